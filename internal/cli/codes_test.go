package cli

import (
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// sealKeyFile writes a file of seal keys with the given ids.
func sealKeyFile(t *testing.T, path string, ids ...string) string {
	t.Helper()
	text := ""
	for _, id := range ids {
		text += stocktest.SealKeyLine(id) + "\n"
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// importing sends a file of codes with the admin token.
func (s *service) importing(lines []string, query string) (int, string) {
	s.tb.Helper()
	status, body, err := s.ask("POST", "/admin/pools/spring/prizes/card/codes"+query, strings.Join(lines, "\n")+"\n",
		"Authorization", "Bearer "+s.token, "Content-Type", "text/plain")
	require.NoError(s.tb, err)
	return status, body
}

// leaks returns the names of the places that contain one of the codes, in any usual
// encoding.
func leaks(places map[string]string, codes []string) (found []string) {
	for name, text := range places {
		for _, code := range codes {
			for _, written := range []string{code, hex.EncodeToString([]byte(code)), base64.StdEncoding.EncodeToString([]byte(code))} {
				if strings.Contains(text, written) {
					found = append(found, name)
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// TestCodesLeakNowhere: apart from the answers to draws, no output of the service or
// its database contains a code: debug logs, errors, metrics, every GET by every role,
// the files of the database, and every row of every table.
func TestCodesLeakNowhere(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p, dir := on(t, url), t.TempDir()
		keys := sealKeyFile(t, filepath.Join(dir, "keys"), "k1")
		entries := []made{}
		tokens := map[string]string{}
		for _, role := range []string{"admin", "auditor", "stock", "draw", "metrics"} {
			m := p.newToken("--name", role, "--role", role)
			entries, tokens[role] = append(entries, m), m.token
		}
		file := filepath.Join(dir, "tokens")
		writeTokens(t, file, entries...)
		if p.vars["DRAWSVC_DATABASE"] == url && !strings.HasPrefix(url, "sqlite:") {
			p.ok("migrate", "up")
		}
		s := p.serve("--seal-keys", keys, "--tokens", file, "--log-level", "debug")
		s.token = tokens["admin"]
		lines := stocktest.CodeLines("SECRET", 30)
		places := map[string]string{}
		s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"spring","name":"Spring","prizes":[{"id":"card","name":"Card","codes":true},{"id":"none","name":"None","kind":"blank","stock":5}]}`)
		for i, query := range []string{"?dry_run=true", "", "", "?skip=true", "?reserve=true"} {
			_, places[fmt.Sprint("import ", i, query)] = s.importing(lines, query)
		}
		_, places["bad import"] = s.importing([]string{lines[0] + ",x", `"` + lines[1] + `"`, "", lines[2]}, "")
		won := []string{}
		for i := range 12 {
			_, body, err := s.ask("POST", "/draw", `{"pool":"spring","user":"u1"}`, "Authorization", "Bearer "+tokens["draw"], "Idempotency-Key", fmt.Sprint("d", i/2))
			require.NoError(t, err)
			won = append(won, body)
		}
		require.NotEmpty(t, leaks(map[string]string{"draws": strings.Join(won, "")}, lines), "players get their codes")
		s.admin(http.StatusOK, "DELETE", "/admin/pools/spring/users/u1", "")
		for role, token := range tokens {
			for _, path := range readPaths() {
				for _, accept := range []string{"application/json", "text/csv", "application/x-ndjson"} {
					_, body, err := s.ask("GET", path, "", "Authorization", "Bearer "+token, "Accept", accept)
					require.NoError(t, err)
					places[fmt.Sprintf("GET %s as %s (%s)", path, role, accept)] = body
				}
			}
		}
		metrics, err := s.metrics()
		require.NoError(t, err)
		places["metrics"] = metrics
		if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
			for _, suffix := range []string{"", "-wal", "-shm"} {
				content, err := os.ReadFile(path + suffix)
				require.NoError(t, err)
				places["the file"+suffix] = string(content)
			}
		}
		ended := s.end()
		places["log"], places["stdout"] = ended.stderr, ended.stdout
		p.vars["DRAWSVC_SEAL_KEYS"] = keys
		for _, line := range []string{"pool show spring", "log --pool spring", "export awards --pool spring", "codes show --pool spring --prize card", "audit"} {
			places[line] = p.ok(strings.Fields(line)...)
		}
		db := rows(t, url)
		for _, table := range stock.Tables() {
			places["table "+table] = tableText(t, db, table)
		}
		require.Empty(t, leaks(places, lines))
		require.Contains(t, p.ok("codes", "export", "--pool", "spring"), lines[0], "the codes are there")
	})
}

// readPaths returns the paths of the GETs that show something of the pool. GETs of a draw
// by its key are left out.
func readPaths() []string {
	pool := "/admin/pools/spring"
	return []string{
		"/pools/spring", "/pools/spring/odds", "/pools/spring/users/u1/awards", "/admin/self", "/admin/pools", pool, pool + "/prizes/card/codes",
		pool + "/awards", pool + "/moves", pool + "/log", pool + "/rules", pool + "/agenda", pool + "/odds", pool + "/audit", pool + "/statements",
		pool + "/simulation?draws=10", "/admin/jobs", "/readyz", "/metrics", "/openapi.json", "/problems/codes-missing",
	}
}

// TestCodesLeakCatches: a plain code is found in each of the places, in each encoding.
func TestCodesLeakCatches(t *testing.T) {
	t.Parallel()
	code := "SECRET-000001"
	for _, text := range []string{
		"line 3: " + code + " is there twice", `{"level":"DEBUG","code":"` + code + `"}`, "drawsvc_codes{code=\"" + code + "\"} 1",
		"\x00\x01" + code + "\x00", hex.EncodeToString([]byte("x" + code)), base64.StdEncoding.EncodeToString([]byte(code)),
	} {
		require.Equal(t, []string{"place"}, leaks(map[string]string{"place": text, "other": "nothing"}, []string{"SECRET-000002", code}))
	}
}

// TestSealKeysRotate: keys are replaced while draws continue. Every answer has the
// right code, or is 503; wrong bytes under an id are not a key, and a bad file changes
// nothing.
func TestSealKeysRotate(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} { // only one process may open an SQLite file
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p, dir := on(t, stocktest.Migrated(t, dialect)), t.TempDir()
			files := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
			var services []*service
			for _, file := range files {
				sealKeyFile(t, file, "k1")
				services = append(services, p.serve("--seal-keys", file))
			}
			s := services[0]
			lines := stocktest.CodeLines("ROTA", 4000)
			s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"spring","name":"Spring","prizes":[{"id":"card","name":"Card","codes":true}]}`)
			status, body := s.importing(lines, "")
			require.Equal(t, http.StatusCreated, status, body)
			stop, ended := make(chan struct{}), make(chan error)
			var wins atomic.Int64
			go func() { ended <- drawsWithCodes(services, lines, &wins, stop) }()
			more := func() {
				t.Helper()
				before := wins.Load()
				require.Eventually(t, func() bool { return wins.Load() > before+20 }, commandMax, 20*time.Millisecond)
			}
			more()
			useKeys := func(i int, ids ...string) {
				t.Helper()
				services[i].noticed("a changed file is used from now on", func() { sealKeyFile(t, files[i], ids...) })
			}
			useKeys(0, "k2", "k1") // first on one instance, later on all
			status, body = s.importing([]string{"EXTRA"}, "?reserve=true")
			require.Equal(t, http.StatusCreated, status, body)
			require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring/prizes/card/codes", ""), `"k2":1`)
			useKeys(1, "k2", "k1")
			more()
			p.vars["DRAWSVC_SEAL_KEYS"] = files[0]
			require.Contains(t, p.ok("codes", "reseal"), "sealed again")
			require.Contains(t, p.ok("codes", "show", "--pool", "spring", "--prize", "card", "--output", "json"), `"keys":{"k2":`)
			useKeys(0, "k2")
			useKeys(1, "k2")
			more()
			require.NoError(t, os.WriteFile(files[0], []byte("k2 "+strings.Fields(stocktest.SealKeyLine("wrong"))[1]), 0o600))
			awaitReady(t, s, `"codes":"unavailable"`, true)
			status, body, err := s.draw("spring", "u", "refused")
			require.NoError(t, err)
			require.Equal(t, http.StatusServiceUnavailable, status)
			require.Contains(t, body, `"code":"seal-key-missing","outcome":"none"`)
			require.NoError(t, os.WriteFile(files[0], []byte("no key at all"), 0o600))
			services[1].noticed("a changed file cannot be used", func() { require.NoError(t, os.WriteFile(files[1], []byte("no key at all"), 0o600)) })
			more() // the other instance draws, because it keeps the keys from before
			sealKeyFile(t, files[0], "k2")
			awaitReady(t, s, `"codes":"unavailable"`, false)
			close(stop)
			require.NoError(t, <-ended)
			p.vars["DRAWSVC_SEAL_KEYS"] = files[0]
			require.Contains(t, p.ok("audit"), "0 violations")
		})
	}
}

func awaitReady(t *testing.T, s *service, part string, has bool) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, body, err := s.ask("GET", "/readyz", "")
		return err == nil && strings.Contains(body, `"ready"`) && strings.Contains(body, part) == has
	}, commandMax, 20*time.Millisecond)
}

// drawsWithCodes draws until stop is closed, and returns what is wrong with an answer.
func drawsWithCodes(services []*service, lines []string, wins *atomic.Int64, stop <-chan struct{}) error {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return nil
		case <-time.After(5 * time.Millisecond):
		}
		status, body, err := services[i%len(services)].draw("spring", "u", fmt.Sprint("k", i))
		if err != nil {
			return err
		}
		if status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout {
			continue
		}
		var answer struct {
			Awards []struct {
				Unit int
				Code string
			}
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK || len(answer.Awards) != 1 {
			return fmt.Errorf("status %d: %s", status, body)
		}
		if a := answer.Awards[0]; a.Unit > len(lines) || a.Code != lines[a.Unit-1] {
			return fmt.Errorf("unit %d has the code %q", a.Unit, a.Code)
		}
		wins.Add(1)
	}
}

// tableText returns all rows of a table, as text.
func tableText(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	found, err := db.QueryContext(t.Context(), "SELECT * FROM "+table)
	require.NoError(t, err)
	defer found.Close()
	names, err := found.Columns()
	require.NoError(t, err)
	var all strings.Builder
	for found.Next() {
		values, to := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			to[i] = &values[i]
		}
		require.NoError(t, found.Scan(to...))
		for _, value := range values {
			if b, isBytes := value.([]byte); isBytes {
				value = string(b)
			}
			fmt.Fprintf(&all, "%v\n", value)
		}
	}
	require.NoError(t, found.Err())
	return all.String()
}
