package cli

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// curl runs a line as if it were pasted into a shell.
func curl(tb testing.TB, line string) map[string]any {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), commandMax)
	defer cancel()
	output, err := exec.CommandContext(ctx, "sh", "-c", line).Output()
	require.NoError(tb, err, line)
	var answer map[string]any
	require.NoError(tb, json.Unmarshal(output, &answer), "%s\n%s", line, output)
	return answer
}

// curlLines returns the lines with curl that a demo prints for pasting.
func curlLines(printed string) (lines []string) {
	for line := range strings.Lines(printed) {
		if strings.HasPrefix(line, "  curl ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func TestDemo(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		p := on(t, url)
		args := []string{"--demo"}
		if !strings.HasPrefix(url, "sqlite:") {
			args = append(args, "--migrate")
		}
		s := p.serve(args...)
		require.Equal(t, 1, strings.Count(s.stdout.String(), "admin token for this run: "+s.token+"\n"))
		lines := curlLines(s.stdout.String())
		require.GreaterOrEqual(t, len(lines), 8)

		first, second := curl(t, lines[0]), curl(t, lines[0])
		require.NotEqual(t, first["draw"], second["draw"], "without a key, another draw each time")
		require.Len(t, first["awards"], 1)
		first, second = curl(t, lines[1]), curl(t, lines[1])
		require.Equal(t, first["awards"], second["awards"])
		require.Equal(t, []any{false, true}, []any{first["replayed"], second["replayed"]})
		require.Equal(t, "demo", curl(t, lines[2])["id"])
		require.Equal(t, float64(15), curl(t, lines[3])["stocked"])
		require.Equal(t, true, curl(t, lines[4])["ok"])
		require.Len(t, curl(t, lines[5])["awards"], 1)
		limits, _ := curl(t, lines[6])["limits"].([]any)
		require.Len(t, limits, 1)
		require.Equal(t, float64(2), limits[0].(map[string]any)["left"])
		require.Equal(t, "1/4", curl(t, lines[7])["win"])

		o := s.end()
		require.Equal(t, exitOK, o.code)
		require.NotContains(t, o.stderr, s.token, "the token is not for the log")
		require.Contains(t, p.ok("pool", "show", "demo"), "gold    19.90  15 ")

		// An existing pool does not change, and with tokens the lines work too.
		p.vars["DRAWSVC_ADMIN_TOKEN"] = `it's-"given"-$HOME`
		p.vars["DRAWSVC_DRAW_TOKEN"] = "draw-'token'-\\given"
		s = p.serve("--demo")
		require.NotContains(t, s.stdout.String(), "admin token for this run")
		lines = curlLines(s.stdout.String())
		again := curl(t, lines[1])
		require.Equal(t, first["awards"], again["awards"])
		require.Equal(t, float64(20), curl(t, lines[3])["stocked"])
		require.Equal(t, true, curl(t, lines[4])["ok"])
		status, _, err := s.draw("demo", "u1", "")
		require.NoError(t, err)
		require.Equal(t, 401, status)
		require.NotContains(t, s.end().stderr, "given")
	})
}

// TestServeAdminToken: the token is created, printed and valid for one run.
func TestServeAdminToken(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	first := p.serve("--log-level", "debug")
	require.Regexp(t, `^admin token for this run: [A-Z2-7]{26}\n$`, first.stdout.String())
	first.admin(200, "GET", "/admin/pools", "")
	status, _, err := first.ask("GET", "/admin/pools", "", "Authorization", "Bearer "+first.token+"X")
	require.NoError(t, err)
	require.Equal(t, 401, status)
	require.NotContains(t, first.end().stderr, first.token)
	second := p.serve()
	require.NotEqual(t, first.token, second.token)
}

func TestLogFormats(t *testing.T) {
	t.Parallel()
	url := stocktest.Migrated(t, "sqlite")
	p := spring(t, url)
	s := p.serve("--log-format", "json", "--mode", "external")
	all := s.log()
	at := slices.IndexFunc(all, func(line map[string]any) bool { return line["msg"] == "listening" }) // a job may have ended before
	require.NotEqual(t, -1, at)
	listening := all[at]
	require.Equal(t, "INFO", listening["level"])
	require.Equal(t, strings.TrimPrefix(s.url, "http://"), listening["address"])
	require.Equal(t, []any{"sqlite", "external", "table"}, []any{listening["database"], listening["mode"], listening["lock"]})
	s.wonByLock("spring", "u1", "key-that-is-not-for-the-log")
	s.admin(404, "GET", "/admin/pools/no-such-pool", "")
	o := s.end()
	require.Equal(t, exitOK, o.code)
	for line := range strings.Lines(o.stderr) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	require.NotContains(t, o.stderr, "key-that-is-not-for-the-log")
	require.Contains(t, o.stderr, `"route":"/admin/pools/:pool","status":404`)

	s = p.serve("--log-format", "text")
	require.Regexp(t, `(?m)^time=\S+ level=INFO msg=listening address=127\.0\.0\.1:\d+ database=sqlite mode=for-update lock=table$`, s.stderr.String())
	require.Equal(t, exitOK, s.end().code)

	s = p.serve("--log-level", "error", "--demo") // a demo reports its address without the log
	s.admin(200, "GET", "/admin/pools", "")
	require.Empty(t, s.end().stderr)
	s = p.serve("--log-level", "debug")
	s.won("spring", "u1", "")
	require.Contains(t, s.end().stderr, `"route":"/draw","status":200`)
}

// TestServeRefusesToStart: the service does not start while another process has the
// file or the port that it needs.
func TestServeRefusesToStart(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "draws.db")
	p := on(t, "sqlite:"+file)
	s := p.serve("--demo")
	line := p.refused(exitFailure, "is in use by another process", "serve", "--listen", "127.0.0.1:0")
	require.Contains(t, line, file)
	link := filepath.Join(folder, "link.db")
	require.NoError(t, os.Symlink(file, link))
	p.refused(exitFailure, "is in use by another process", "serve", "--listen", "127.0.0.1:0", "--database", "sqlite:"+link)
	require.Contains(t, p.ok("audit"), "3 pools, 0 violations", "the audit reads all the same")

	other := "sqlite:" + filepath.Join(folder, "other.db")
	p.refused(exitFailure, "address already in use", "serve", "--listen", strings.TrimPrefix(s.url, "http://"), "--database", other)
	require.NoFileExists(t, filepath.Join(folder, "other.db"), "nothing was touched")
	require.Equal(t, exitOK, s.end().code)
	require.Equal(t, exitOK, p.serve().end().code, "the file is free again")

	p.refused(exitFailure, "cannot be opened", "serve", "--listen", "127.0.0.1:0", "--database", "sqlite:"+folder)
	p.refused(exitFailure, "cannot be opened", "serve", "--listen", "127.0.0.1:0", "--database", "sqlite:"+folder+"/no/such/folder.db")
	noise := filepath.Join(folder, "noise.db")
	require.NoError(t, os.WriteFile(noise, []byte(strings.Repeat("this is not a database\n", 400)), 0o600))
	p.refused(exitFailure, "not a database", "serve", "--listen", "127.0.0.1:0", "--database", "sqlite:"+noise)
}
