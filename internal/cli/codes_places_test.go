package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// overheard is a receiver of webhooks that keeps all that it gets, as text.
type overheard struct {
	url string

	mu  sync.Mutex
	all strings.Builder
}

func overhear(t *testing.T) *overheard {
	t.Helper()
	o := &overheard{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		o.mu.Lock()
		defer o.mu.Unlock()
		fmt.Fprintf(&o.all, "%v\n%s\n", r.Header, body)
	}))
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

func (o *overheard) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

// dumps are the outputs of a database's tools: a dump, and MariaDB's binary log.
func dumps(t *testing.T, databaseURL, folder string) map[string]string {
	t.Helper()
	run := func(argv ...string) string {
		ctx, end := context.WithTimeout(t.Context(), commandMax)
		defer end()
		output, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
		require.NoError(t, err)
		require.Contains(t, string(output), "spring")
		return string(output)
	}
	at, err := url.Parse(databaseURL)
	require.NoError(t, err)
	password, _ := at.User.Password()
	switch at.Scheme {
	case "postgres":
		servertest.NeedPrograms(t, "postgresql-client", "pg_dump")
		return map[string]string{"dump": run("pg_dump", "--inserts", databaseURL)}
	case "mysql":
		servertest.NeedPrograms(t, "mariadb-client", "mariadb-dump")
		login := []string{"--host=" + at.Hostname(), "--port=" + at.Port(), "--user=" + at.User.Username(), "--password=" + password}
		args := append(append([]string{"mariadb-dump"}, login...), "--skip-ssl", "--single-transaction", strings.TrimPrefix(at.Path, "/"))
		found := map[string]string{"dump": run(args...)}
		logs, err := filepath.Glob(filepath.Join(folder, "data", "bin.0*"))
		require.NoError(t, err)
		require.NotEmpty(t, logs)
		for _, name := range logs {
			content, err := os.ReadFile(name)
			require.NoError(t, err)
			found["binary log"] += string(content)
		}
		require.Contains(t, found["binary log"], "spring")
		return found
	}
	return nil
}

// testLife draws units with codes. One award is claimed and fulfilled, and its code is
// shown and replaced. testLife returns that award's version, and the answer to its
// claim.
func testLife(t *testing.T, s *service, draws string) (version, claimed string) {
	t.Helper()
	drawn := func(key string) string {
		status, body, err := s.ask("POST", "/draw", `{"pool":"spring","user":"u1"}`, "Authorization", "Bearer "+draws, "Idempotency-Key", key)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, body)
		return body
	}
	drawn("d1")
	s.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", `{"claims":{"within":"1h"}}`)
	body := drawn("d2")
	version = fmt.Sprintf("%.0f", onlyAward(t, body)["version"])
	claimed = s.admin(http.StatusOK, "POST", drawPath(t, body)+"/claim", `{"user":"u1"}`)
	for _, step := range []string{`"to":"fulfilled","reference":"DHL 1"`, `"to":"replaced","reason":"used"`} {
		s.admin(http.StatusOK, "POST", "/admin/pools/spring/steps", `{"award":`+version+`,`+step+`}`)
	}
	s.admin(http.StatusOK, "POST", "/admin/pools/spring/awards/"+version+"/code", "")
	return version, claimed
}

// shownPaths returns the paths of the GETs that show pools with codes, hooks and steps.
// GETs of a draw by its key are left out.
func shownPaths(version, hook string) []string {
	pool := "/admin/pools/spring"
	return append(readPaths(), "/admin/awards", "/admin/hooks", "/admin/hooks/"+hook, pool+"/steps", pool+"/awards/"+version,
		pool+"/awards?state=fulfilled", pool+"/awards?state=won", pool+"/prizes/card/codes", pool+"/changes", pool+"/users/u1", "/admin/jobs/hooks", "/admin/jobs/claims")
}

// TestSecretsLeakNowhere: while awards are claimed, fulfilled, shown and replaced, no
// code, webhook secret or seal key appears in a dump, the binary log, the traces, the
// messages of webhooks, the log, or any GET by any role.
func TestSecretsLeakNowhere(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			var location, folder string
			if dialect == "mysql" {
				server := servertest.Start(t, dialect, servertest.Archived())
				location, folder = server.URL(), server.Dir()
			} else {
				location = stocktest.Migrated(t, dialect)
			}
			traces, dir := startCollector(t), t.TempDir()
			p := on(t, location).tracedTo(traces.http, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf")
			p.ok("migrate", "up")
			entries, tokens := []made{}, map[string]string{}
			for _, role := range []string{"admin", "fulfil", "auditor", "stock", "draw", "metrics"} {
				m := p.newToken("--name", role, "--role", role)
				entries, tokens[role] = append(entries, m), m.token
			}
			writeTokens(t, filepath.Join(dir, "tokens"), entries...)
			s := p.start("--seal-keys", sealKeyFile(t, filepath.Join(dir, "keys"), "k1"), "--tokens", filepath.Join(dir, "tokens"),
				"--log-level", "debug", "--hook-allow", "127.0.0.0/8")
			s.token = tokens["admin"]
			lines, heard := stocktest.CodeLines("SECRET", 12), overhear(t)
			s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"spring","name":"Spring","prizes":[{"id":"card","name":"Card","codes":true}]}`)
			made := members(t, s.admin(http.StatusCreated, "POST", "/admin/hooks", `{"url":"`+heard.url+`/in","from":"start"}`))
			secret := made["secret"].(string)
			secrets := append([]string{secret, strings.TrimPrefix(secret, "whsec_"), strings.Fields(stocktest.SealKeyLine("k1"))[1]}, lines...)
			for i, query := range []string{"", "?reserve=true"} {
				status, body := s.importing(lines[6*i:6*i+6], query)
				require.Equal(t, http.StatusCreated, status, body)
			}
			version, answer := testLife(t, s.service, tokens["draw"])
			require.Eventually(t, func() bool { return strings.Contains(heard.text(), "award.replaced") }, commandMax, 50*time.Millisecond)
			require.NotEmpty(t, leaks(map[string]string{"answer": answer}, secrets), "players get their codes")
			places := map[string]string{"webhooks": heard.text()}
			for role, token := range tokens {
				for _, path := range shownPaths(version, made["id"].(string)) {
					for _, accept := range []string{"application/json", "text/csv", "application/x-ndjson"} {
						_, body, err := s.ask("GET", path, "", "Authorization", "Bearer "+token, "Accept", accept)
						require.NoError(t, err)
						places[fmt.Sprintf("GET %s as %s (%s)", path, role, accept)] = body
					}
				}
			}
			s.signal(syscall.SIGTERM)
			places["log"], places["traces"] = s.stderr.String()+s.stdout.String(), traces.text(t)
			require.Contains(t, places["traces"], "/claim")
			for name, text := range dumps(t, location, folder) {
				places[name] = text
			}
			require.Empty(t, leaks(places, secrets))
		})
	}
}
