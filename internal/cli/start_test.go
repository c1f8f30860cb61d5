package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// TestServeBeyondLoopbackNeedsSettings tests which settings are required if other
// machines can reach the service.
func TestServeBeyondLoopbackNeedsSettings(t *testing.T) {
	t.Parallel()
	p := program{tb: t, vars: map[string]string{}}
	const admin, drawing = "--admin-token=a-token-of-twenty-two", "--draw-token=another-of-twenty-two"
	p.refused(exitUsage, "name the --database", "serve", "--listen", ":0", admin, drawing)
	p.refused(exitUsage, "--admin-token must have at least 16 characters", "serve", "--listen", ":0", "--admin-token=123456789012345", drawing)
	p.refused(exitUsage, "--draw-token must have at least 16 characters", "serve", "--listen", ":0", "--draw-token=123456789012345", admin)
	require.NoFileExists(t, "drawsvc.db")
}

// TestUnknownVariableEndsTheProgram: for a variable with an unknown name the program
// ends, and suggests the nearest name.
func TestUnknownVariableEndsTheProgram(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"DRAWSVC_DATABSE": "the nearest is DRAWSVC_DATABASE", "DRAWSVC_BATCHMAX": "the nearest is DRAWSVC_BATCH_MAX",
		"DRAWSVC_ADMINTOKEN_FILE": "DRAWSVC_ADMIN_TOKEN_FILE", "DRAWSVC_SERVICE": "is no variable", "DRAWSVC_": "is no variable", "DRAWSVC_X": "is no variable", "DRAWSVC_XBIN": "is no variable",
	} {
		p := program{tb: t, vars: map[string]string{name: "x"}}
		for _, command := range []string{"version", "serve"} {
			line := p.refused(exitUsage, want, command)
			require.Contains(t, line, name+" is no variable of drawsvc")
		}
	}
	p := program{tb: t, vars: map[string]string{
		"DRAWSVC_SERVICE_HOST": "10.0.0.1", "DRAWSVC_SERVICE_PORT": "80", "DRAWSVC_SERVICE_PORT_HTTP": "80",
		"DRAWSVC_PORT": "tcp://10.0.0.1:80", "DRAWSVC_PORT_80_TCP_ADDR": "10.0.0.1", "DRAWSVC_TEST_X": "x", "OTHER": "x", "DRAWSVC_X_BIN": "x",
		"DRAWSVC_QUEUE_MAX": "7", "DRAWSVC_TOKENS": "x",
	}}
	require.Contains(t, p.ok("version"), "drawsvc ")
}

// TestUnencodedPasswordIsRefusedUnprinted: a password that would be parsed as a host is
// refused before any name server is queried, and no part of it is printed.
func TestUnencodedPasswordIsRefusedUnprinted(t *testing.T) {
	t.Parallel()
	p := program{tb: t, vars: map[string]string{}}
	for _, url := range []string{
		"mysql://d:p@ss/w:rd@127.0.0.1:1/draws", "postgres://d:p@ss@127.0.0.1:1/draws", "postgres://d:p:ss@127.0.0.1:1/draws",
		"postgres://d:p/ss@127.0.0.1:1/draws?sslmode=disable",
	} {
		line := p.refused(exitUsage, "percent-encode them: @ is %40", "audit", "--database", url)
		require.NotContains(t, line, "ss@")
		require.NotContains(t, line, "draws")
	}
	p.refused(exitUsage, "--lock: the password", "serve", "--listen", "127.0.0.1:0", "--lock", "redis://:p@ss@127.0.0.1:1/0")
}

// TestOpenSecretsAreWarnedOf: the warning names the exposed flag or file, and never the
// secret.
func TestOpenSecretsAreWarnedOf(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	loose := filepath.Join(folder, "draw")
	require.NoError(t, os.WriteFile(loose, []byte("a-secret-from-a-file"), 0o600))
	require.NoError(t, os.Chmod(loose, 0o644))
	p := on(t, stocktest.URL(t, "sqlite"))
	s := p.serve("--admin-token", "a-secret-on-the-line", "--draw-token-file", loose, "--demo")
	require.NotContains(t, s.stdout.String(), "from-a-file")
	require.Contains(t, s.stdout.String(), "$(head -n 1 '"+loose+"')")
	require.Equal(t, []any{"WARN", "--admin-token"}, []any{s.log()[0]["level"], s.log()[0]["flag"]})
	require.Equal(t, []any{"--draw-token-file", "0644"}, []any{s.log()[1]["flag"], s.log()[1]["mode"]})
	path := strings.TrimPrefix(p.vars["DRAWSVC_DATABASE"], "sqlite:")
	path, _, _ = strings.Cut(path, "?")
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		info, err := os.Stat(path + suffix)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "a database is its user's alone: %s", suffix)
	}
	require.Equal(t, "demo", curl(t, strings.Replace(curlLines(s.stdout.String())[1], "my-first", "other", 1))["pool"])
	require.NotContains(t, s.end().stderr, "a-secret")

	p.vars["DRAWSVC_ADMIN_TOKEN"] = "a-secret-in-a-variable"
	require.NoError(t, os.Chmod(loose, 0o600))
	s = p.serve("--draw-token-file", loose)
	require.NotContains(t, s.end().stderr, "WARN", "nothing lies open")
	require.NoError(t, os.Chmod(path, 0o644))
	require.Contains(t, p.serve("--draw-token-file", loose).end().stderr, `"flag":"--database","mode":"0644"`)
}
