package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// each runs a test on a new, migrated database of every dialect.
func each(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	eachOf(t, stocktest.Migrated, test)
}

// eachEmpty runs a test on a new, empty database of every dialect.
func eachEmpty(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	eachOf(t, stocktest.URL, test)
}

func eachOf(t *testing.T, database func(testing.TB, string) string, test func(t *testing.T, url string)) {
	t.Helper()
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			test(t, database(t, dialect))
		})
	}
}

// spring creates the pool spring: gold 10, silver 90.
func spring(tb testing.TB, url string) program {
	tb.Helper()
	p := on(tb, url)
	p.ok("migrate", "up")
	p.ok("pool", "create", "spring", "--name", "Spring draw",
		"--prize", "id=gold,name=Gold coin,value=19.90,stock=10", "--prize", `id=silver,"name=Silver, spoon",stock=90`)
	return p
}

func TestPoolCommandsCreateListAndChange(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := on(t, url)
		p.ok("migrate", "up")
		require.Equal(t, "pool  state  mode  version  prizes  stocked  issued  remaining  name\n", p.ok("pool", "list"))
		require.JSONEq(t, `{"pools":[],"next":null}`, p.ok("pool", "list", "--output", "json"))

		require.Equal(t, "pool spring created (open): prizes 2, units 100\n",
			p.ok("pool", "create", "spring", "--name", "Spring draw", "--mode", "optimistic",
				"--prize", "id=gold,name=Gold coin,value=19.90,stock=10", "--prize", `id=silver,"name=Silver, spoon",stock=90`))
		require.Equal(t, "pool bare created (open): prizes 0, units 0\n", p.ok("pool", "create", "--pool", "bare"))
		p.refused(exitFailure, `there is a pool "spring" already`, "pool", "create", "spring")

		require.Equal(t, "pool spring is paused\n", p.ok("pool", "pause", "spring"))
		require.Equal(t, `pool    state   mode         version  prizes  stocked  issued  remaining  name
bare    open    (service's)  1        0       0        0       0          bare
spring  paused  optimistic   4        2       100      0       100        Spring draw
`, p.ok("pool", "list"))
		require.Equal(t, "pool spring is open\n", p.ok("pool", "open", "--pool=spring"))
		require.Equal(t, `pool spring, Spring draw: open, mode optimistic, revision 5, version 5

prize   value  stocked  issued  remaining  name
gold    19.90  10       0       10         Gold coin
silver  0.00   90       0       90         Silver, spoon
`, p.ok("pool", "show", "spring"))
		for _, verb := range []string{"show", "open", "pause", "close", "archive", "delete"} {
			p.refused(exitFailure, `there is no pool "summer"`, "pool", verb, "summer")
		}

		// An invalid pool is refused completely.
		p.refused(exitUsage, `prize id "a" is there twice`, "pool", "create", "summer", "--prize", "id=a,stock=1", "--prize", "id=a,stock=1")
		p.refused(exitFailure, "summer", "pool", "show", "summer")

		// The environment names the service's mode, not the pool's.
		p.vars["DRAWSVC_MODE"] = "external"
		p.ok("pool", "create", "autumn")
		require.JSONEq(t, `{"id":"autumn","name":"autumn","state":"open","mode":null,"version":1,"revision":1,"rules":0,"committed":0,"archived":false,"prizes":[]}`,
			p.ok("pool", "show", "autumn", "--output", "json"))
	})
}

// TestPoolNamesOfFulfil: what a token of role fulfil may not read of a pool is left out, and
// not shown as zero.
func TestPoolNamesOfFulfil(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	depot, file := p.newToken("--name", "depot", "--role", "fulfil"), filepath.Join(t.TempDir(), "tokens")
	writeTokens(t, file, depot)
	url, token := p.serve("--public-draw", "--tokens", file).url, filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte(depot.token), 0o600))
	read := func(args ...string) string {
		return program{tb: t}.ok(append(args, "--server", url, "--token-file", token)...)
	}
	require.Equal(t, `pool    state  mode  version  prizes  stocked  issued  remaining  name
spring  open   -     -        -       -        -       -          Spring draw
`, read("pool", "list"))
	require.Equal(t, `{"pools":[{"id":"spring","name":"Spring draw","state":"open"}],"next":null}`+"\n", read("pool", "list", "--output", "json"))
	require.Equal(t, "pool spring, Spring draw: open\n", read("pool", "show", "spring"))
	require.Equal(t, `{"id":"spring","name":"Spring draw","state":"open"}`+"\n", read("pool", "show", "spring", "--output", "json"))
}

// TestPoolJSON: the commands and the service show a pool in the same way.
func TestPoolJSON(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve()
	s.won("spring", "u1", "")
	s.admin(200, "PATCH", "/admin/pools/spring", `{"mode":"optimistic"}`)
	s.admin(201, "POST", "/admin/pools", `{"id":"bare","name":"<Bare> & Ümlaut","prizes":[]}`)
	require.JSONEq(t, s.admin(200, "GET", "/admin/pools", ""), p.ok("pool", "list", "--output", "json"), "while the service runs")
	require.JSONEq(t, s.admin(200, "GET", "/admin/pools/spring", ""), p.ok("pool", "show", "spring", "--output", "json"))
	require.JSONEq(t, s.admin(200, "GET", "/admin/pools/spring/audit", ""), p.ok("audit", "--pool", "spring", "--output", "json"))

	// Only the service may use the file.
	for _, args := range [][]string{
		{"pool", "create", "summer"}, {"pool", "pause", "spring"}, {"migrate", "up"},
		{"stock", "add", "--pool", "spring", "--prize", "gold", "--delta", "1", "--reason", "x"},
		{"stock", "import", "--pool", "spring", "-"},
	} {
		p.refused(exitFailure, "is in use by another process", args...)
	}
	require.Equal(t, exitOK, s.end().code)
	require.Equal(t, "pool spring is paused\n", p.ok("pool", "pause", "spring"))
}
