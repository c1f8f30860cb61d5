package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rivo/uniseg"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// TestCompletion: each shell gets a script, and a shell that completes gets commands,
// flags and the ids of pools, of a database and over HTTP.
func TestCompletion(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		require.Contains(t, p.ok("completion", shell), "drawsvc")
	}
	script := filepath.Join(t.TempDir(), "completion")
	require.NoError(t, os.WriteFile(script, []byte(p.ok("completion", "bash")), 0o600))
	checked, err := exec.Command("bash", "-n", script).CombinedOutput()
	require.NoError(t, err, "%s", checked)

	suggested := func(p program, args ...string) string {
		t.Helper()
		o := p.run(append([]string{"__complete"}, args...)...)
		require.Equal(t, exitOK, o.code, o.message)
		return o.stdout
	}
	// found waits until a shell gets the pools. A completion gives up after 2 s, which may
	// be too short on a busy machine.
	found := func(p program, args ...string) {
		t.Helper()
		require.Eventually(t, func() bool { return suggested(p, args...) == "spring\tSpring draw\n:4\n" }, commandMax, 10*time.Millisecond, "%v", args)
	}
	require.Contains(t, suggested(p, "po"), "pool\t")
	require.Contains(t, suggested(p, "pool", "show", "--wat"), "--watch")
	found(p, "pool", "show", "")
	found(p, "stock", "add", "--pool", "")
	require.Equal(t, "table\njson\n:4\n", suggested(p, "audit", "--output", ""))
	require.Equal(t, ":4\n", suggested(p, "pool", "show", "--database", "postgres://127.0.0.1:1/none", ""), "no database, no pools")

	missing := filepath.Join(t.TempDir(), "none.db")
	require.Equal(t, ":4\n", suggested(program{tb: t, vars: map[string]string{}}, "pool", "show", "--database", "sqlite:"+missing, ""))
	require.NoFileExists(t, missing)

	s := p.serve()
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(s.token), 0o600))
	far := program{tb: t, vars: map[string]string{}}
	found(far, "pool", "show", "--server", s.url, "--token-file", token, "")
	far.vars["DRAWSVC_SERVER"], far.vars["DRAWSVC_TOKEN_FILE"] = s.url, token
	found(far, "odds", "--pool", "")
}

// TestMisspeltCommandSuggestsTheNearest: a misspelt command is answered with the
// nearest one.
func TestMisspeltCommandSuggestsTheNearest(t *testing.T) {
	t.Parallel()
	p := program{tb: t, vars: map[string]string{}}
	for line, want := range map[string]string{
		"seve":                        `unknown command "seve" for "drawsvc"; the nearest is serve`,
		"pool pauze":                  `unknown command "pauze" for "drawsvc pool"; the nearest is pause`,
		"pool lst":                    "the nearest is list",
		"pool pauze spring --pool x":  `unknown command "pauze" for "drawsvc pool"; the nearest is pause`,
		"auidt --database=sqlite:x":   `unknown command "auidt" for "drawsvc"; the nearest is audit`,
		"migrate down --database x":   `unknown command "down" for "drawsvc migrate"`,
		"pool lits --server http://x": `unknown command "lits" for "drawsvc pool"; the nearest is list`,
		"stock imp x":                 "the nearest is import",
		"complet bash":                "the nearest is completion",
		"completion bsh":              "the nearest is bash",
		"pool lits":                   "the nearest is list",
		"export-proof x":              `unknown command "export-proof" for "drawsvc"; there is pool export-proof`,
		"list":                        `there is agenda list, award list, hook list, job list, pool list`,
		"frob":                        `unknown command "frob" for "drawsvc": try drawsvc --help`,
		"frobnicate":                  `unknown command "frobnicate" for "drawsvc": try drawsvc --help`,
		"stock add spring gold 5":     `unexpected argument "spring": the form is drawsvc stock add --pool ID --prize ID --delta N --reason TEXT`,
		"pool list spring":            `unexpected argument "spring": the form is drawsvc pool list`,
		"pool show spring --wach":     "unknown flag: --wach; the nearest is --watch",
		"pool show spring --sever=":   "unknown flag: --sever; the nearest is --server",
	} {
		p.refused(exitUsage, want, strings.Fields(line)...)
	}
}

// TestManual: the pages contain nothing about the machine that made them, and man can
// read them.
func TestManual(t *testing.T) {
	t.Parallel()
	p := program{tb: t, vars: map[string]string{}}
	folder := filepath.Join(t.TempDir(), "man")
	require.Contains(t, p.ok("man", "--dir", folder), "drawsvc.1")
	page, err := os.ReadFile(filepath.Join(folder, "drawsvc-stock-import.1"))
	require.NoError(t, err)
	require.Contains(t, string(page), `--dry-run`)
	require.Contains(t, string(page), "cli:USER")
	if user := os.Getenv("USER"); user != "" {
		require.NotContains(t, string(page), "cli:"+user)
	}
	for _, c := range commands(p.environment(os.Stdout, os.Stderr)) {
		require.True(t, c.Hidden || exists(filepath.Join(folder, "drawsvc-"+c.Name()+".1")), c.Name())
	}
	require.NotContains(t, p.ok("--help"), "\n  man ", "it is for packagers")
	p.refused(exitUsage, "name the folder with --dir", "man")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestTableAlignsByDisplayWidth: columns are aligned on a terminal, with letters of any
// width.
func TestTableAlignsByDisplayWidth(t *testing.T) {
	t.Parallel()
	p := on(t, stocktest.Migrated(t, "sqlite"))
	p.ok("migrate", "up")
	p.ok("pool", "create", "spring", "--name", "春の抽選", "--mode", "optimistic")
	p.ok("pool", "create", "summer")
	var out strings.Builder
	w := newTable(&out)
	_, _ = w.Write([]byte("a title\n\nname\tcount\tend\n金貨\t1\tx\nGold\t22\ty\nCafe\u0301 👩‍👩‍👧\t3\tz\nno columns\nb\tc\n"))
	require.NoError(t, w.Flush())
	require.Equal(t, "a title\n\nname     count  end\n金貨     1      x\nGold     22     y\nCafe\u0301 👩‍👩‍👧  3      z\nno columns\nb  c\n", out.String())
	out.Reset()
	w.isRight = true
	_, _ = w.Write([]byte("name\tcount\t\n金貨\t1\t\n"))
	require.NoError(t, w.Flush())
	require.Equal(t, "  name  count\n  金貨      1\n", out.String())
	require.Equal(t, 4, uniseg.StringWidth("金貨"))
}
