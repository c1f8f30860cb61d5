package cli

import (
	"archive/zip"
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// TestServerRefuses tests the errors that occur only over HTTP.
func TestServerRefuses(t *testing.T) {
	t.Parallel()
	w := newTwin(t, "sqlite")
	url, away := w.server.url, "http://"+servertest.ClosedAddr(t)
	const secret = "secret-token-of-nobody"
	wrong := w.write("wrong", secret)
	none := program{tb: t, vars: map[string]string{}}
	for _, c := range []struct {
		p          program
		code       int
		part, line string
	}{
		{w.as("eye"), exitFailure, "needs a token of role admin; the token has the role auditor", "pool pause mono"},
		{w.as("clerk"), exitFailure, "needs a token of role admin", "rules set --pool mono @limits"},
		{w.as("eye"), exitFailure, "needs a token of role stock", "stock import --pool mono @good"},
		{none, exitFailure, "the bearer token is not valid", "pool list --token-file " + wrong + " --server " + url},
		{none, exitFailure, "the Authorization header with a bearer token is missing", "pool list --server " + url},
		{none, exitFailure, "the service cannot be reached", "pool list --server " + away},
		{none, exitFailure, "the service cannot be reached", "pool pause mono --server " + away},
		{none, exitFailure, "certificate", "pool pause mono --server " + untrusted(t)},
		{none, exitFailure, "HTTP response to HTTPS client", "pool pause mono --server https" + strings.TrimPrefix(url, "http")},
		{none, exitFailure, "status 404 and is none of drawsvc", "pool list --server " + notOurs(t)},
		{none, exitFailure, "status 302 and is none of drawsvc", "pool list --server " + notOurs(t) + "/moved"},
		{none, exitUsage, "give --server or --database, not both", "pool list --server " + url + " --database sqlite:x"},
		{none, exitUsage, "--server must be such as https://draws.example", "pool list --server draws.example"},
		{none, exitUsage, "--server must be such as https://draws.example", "pool list --server ftp://draws.example"},
		{none, exitUsage, "--server must be such as https://draws.example", "pool list --server http://draws.example?token=" + secret},
		{none, exitUsage, "--server must be such as https://draws.example", "pool list --server http://ann:" + secret + "%@draws.example"},
		{none, exitUsage, "--server holds a user or a password", "pool list --server http://ann:" + secret + "@draws.example"},
		{none, exitUsage, "a token is for --server", "pool list --database sqlite:x --token-file " + wrong},
		{none, exitUsage, "--actor is for the database", "pool pause mono --actor ann --server " + url},
		{none, exitUsage, "audit --deep works only on the database", "audit --deep --server " + url},
		{none, exitUsage, "--token-file: open ", "pool list --server " + url + " --token-file " + filepath.Join(w.files, "nowhere")},
		{w.as("ci"), exitUsage, "DRAWSVC_SERVER is set, and doctor works only on the database", "doctor"},
		{w.as("ci"), exitUsage, "DRAWSVC_SERVER is set, and backup works only on the database", "backup " + filepath.Join(w.files, "copy")},
	} {
		require.NotContains(t, c.p.refused(c.code, c.part, w.args(c.line)...), secret)
	}
	both := w.as("ci")
	both.vars["DRAWSVC_DATABASE"] = w.local.vars["DRAWSVC_DATABASE"]
	both.refused(exitUsage, "DRAWSVC_SERVER and DRAWSVC_DATABASE are both set", "pool", "list")
	both.ok("stock", "add", "--pool", "mono", "--prize", "gold", "--delta", "1", "--reason", "far", "--server", url)
	both.ok("stock", "add", "--pool", "mono", "--prize", "gold", "--delta", "1", "--reason", "near", "--database", w.local.vars["DRAWSVC_DATABASE"])
	require.Contains(t, w.far.ok("log", "--pool", "mono"), `"reason":"far"`)
	require.Contains(t, w.local.ok("log", "--pool", "mono"), `"reason":"near"`)
}

// TestServerWarns: the command warns of a secret on the command line, and of a secret
// that is sent unencrypted.
func TestServerWarns(t *testing.T) {
	t.Parallel()
	w := newTwin(t, "sqlite")
	token, err := os.ReadFile(w.tokens["ci"])
	require.NoError(t, err)
	p := program{tb: t, vars: map[string]string{}}
	o := p.run("pool", "list", "--server", w.server.url, "--token", string(token))
	require.Equal(t, exitOK, o.code, o.message)
	require.Contains(t, o.stderr, "a secret is on the command line")
	require.Contains(t, o.stderr, "instead=--token-file")
	require.NotContains(t, o.stderr, string(token))
	o = p.run("pool", "list", "--server", "http://draws.invalid", "--token-file", w.tokens["ci"])
	require.Equal(t, exitUsage, o.code)
	require.Contains(t, o.message, "the token would be sent without encryption: use https, or --allow-plain-http")
	require.NotContains(t, o.stderr+o.message, string(token))
	o = p.run("pool", "list", "--server", "http://draws.invalid", "--allow-plain-http", "--token-file", w.tokens["ci"])
	require.Equal(t, exitFailure, o.code, "it is sent, and nobody is there")
	require.Contains(t, o.message, "cannot be reached")
	p.vars["DRAWSVC_TOKEN"] = string(token)
	require.Contains(t, p.ok("pool", "list", "--server", w.server.url), "mono", "the environment is no command line")
}

// notOurs returns a server that is not drawsvc.
func notOurs(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/moved") {
			http.Redirect(w, r, "https://draws.invalid/", http.StatusFound)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// untrusted returns a server with an unknown certificate.
func untrusted(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it logs that it is not trusted
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// TestIncompleteProofIsRefused: for an archive that lacks files, or is damaged, no folder
// is created.
func TestIncompleteProofIsRefused(t *testing.T) {
	t.Parallel()
	names := []string{"log.jsonl", "commitment", "key", "checkpoints", "checkpoint"}
	for part, archive := range map[string][]byte{
		"the archive is incomplete: it has no log.jsonl": zipOf(t, "key"),
		"checksum": bytes.Replace(zipOf(t, names...), []byte("of checkpoint\n"), []byte("of checkpointX"), 1),
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/zip")
			_, _ = w.Write(archive)
		}))
		t.Cleanup(s.Close)
		dir := filepath.Join(t.TempDir(), "proof")
		p := program{tb: t, vars: map[string]string{"DRAWSVC_SERVER": s.URL}}
		p.refused(exitFailure, part, "pool", "export-proof", "--pool=p", dir)
		require.NoDirExists(t, dir)

		require.NoError(t, os.Mkdir(dir, 0o700))
		p.refused(exitFailure, part, "pool", "export-proof", "--pool=p", dir)
		left, err := os.ReadDir(dir)
		require.NoError(t, err, "a folder that was there stays")
		require.Empty(t, left)
	}
}

// zipOf returns an archive of files with these names, uncompressed.
func zipOf(t *testing.T, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, name := range names {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		require.NoError(t, err)
		_, err = io.WriteString(w, "of "+name+"\n")
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	return b.Bytes()
}
