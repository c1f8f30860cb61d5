package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// drawnFrom draws n times from the pool spring, with the keys k1, k2 ….
func drawnFrom(tb testing.TB, p program, n int) {
	tb.Helper()
	s := p.serve()
	for i := 1; i <= n; i++ {
		s.won("spring", "u1", fmt.Sprintf("k%d", i))
	}
	require.Equal(tb, exitOK, s.end().code)
}

// audited runs an audit that must find violations, and returns them.
func audited(tb testing.TB, p program, args ...string) (rules []string, table string) {
	tb.Helper()
	o := p.run(append([]string{"audit", "--output", "json"}, args...)...)
	require.Equal(tb, exitViolation, o.code, "%s%s", o.stdout, o.message)
	require.Equal(tb, "the audit found violations", o.message)
	var report struct {
		OK    bool `json:"ok"`
		Pools []struct {
			OK         bool `json:"ok"`
			Violations []struct{ Rule, Detail string }
		}
		Violations []struct{ Rule, Detail string }
	}
	require.NoError(tb, json.Unmarshal([]byte(o.stdout), &report), o.stdout)
	require.False(tb, report.OK)
	found := report.Violations
	for _, pool := range report.Pools {
		found = append(found, pool.Violations...)
	}
	for _, v := range found {
		rules = append(rules, v.Rule)
	}
	o = p.run(append([]string{"audit"}, args...)...)
	require.Equal(tb, exitViolation, o.code)
	for _, v := range found {
		require.Contains(tb, o.stdout, v.Rule+": "+v.Detail+"\n", "the table says the same")
	}
	return rules, o.stdout
}

func TestAudit(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := on(t, url)
		p.ok("migrate", "up")
		require.Equal(t, "  pool  prize  stocked  issued  awards  remaining  over-issued\n0 pools, 0 violations\n", p.ok("audit"))
		require.JSONEq(t, `{"ok":true,"pools":[]}`, p.ok("audit", "--output", "json"))
		p.ok("pool", "create", "spring", "--prize", "id=gold,stock=10")
		p.ok("pool", "create", "summer", "--prize", "id=tin,stock=1")
		drawnFrom(t, p, 4)
		require.Equal(t, `    pool  prize  stocked  issued  awards  remaining  over-issued
  spring   gold       10       4       4          6            0
1 pool, 0 violations
`, p.ok("audit", "--pool", "spring"))
		const spring = `{"ok":true,"pool":"spring","version":6,"violations":[],
			"prizes":[{"prize":"gold","stocked":10,"issued":4,"awards":4,"remaining":6,"over_issued":0}]}`
		const summer = `{"ok":true,"pool":"summer","version":2,"violations":[],
			"prizes":[{"prize":"tin","stocked":1,"issued":0,"awards":0,"remaining":1,"over_issued":0}]}`
		require.JSONEq(t, spring, p.ok("audit", "--pool", "spring", "--output=json"))
		require.JSONEq(t, `{"ok":true,"pools":[`+spring+`,`+summer+`]}`, p.ok("audit", "--output=json"))
		p.refused(exitFailure, `there is no pool "winter"`, "audit", "--pool", "winter")
		testViolations(t, p, url)
	})
}

// testViolations breaks each rule in turn by SQL, and repairs it.
func testViolations(t *testing.T, p program, url string) {
	for _, broken := range []struct {
		rules, change, mend string
	}{
		{
			"issued-is-awards",
			`UPDATE prizes SET issued = 5 WHERE pool_id = 'spring'`, `UPDATE prizes SET issued = 4 WHERE pool_id = 'spring'`,
		},
		{
			"stocked-is-moves",
			`UPDATE prizes SET stocked = 11 WHERE pool_id = 'spring'`, `UPDATE prizes SET stocked = 10 WHERE pool_id = 'spring'`,
		},
		{
			"units-count-up",
			`UPDATE awards SET unit = 3 WHERE pool_id = 'spring' AND draw_id = 'k4'`,
			`UPDATE awards SET unit = 4 WHERE pool_id = 'spring' AND draw_id = 'k4'`,
		},
		{
			"version-gap",
			`UPDATE pools SET version = 7 WHERE id = 'spring'`, `UPDATE pools SET version = 6 WHERE id = 'spring'`,
		},
		{
			"draw-whole",
			`UPDATE awards SET ordinal = 2 WHERE pool_id = 'spring' AND draw_id = 'k2'`,
			`UPDATE awards SET ordinal = 1 WHERE pool_id = 'spring' AND draw_id = 'k2'`,
		},
	} {
		tamper(t, url, broken.change)
		rules, _ := audited(t, p, "--pool", "spring")
		require.Equal(t, broken.rules, strings.Join(rules, " "), broken.change)
		rules, table := audited(t, p)
		require.Equal(t, broken.rules, strings.Join(rules, " "), broken.change)
		require.True(t, strings.HasSuffix(table, "2 pools, 1 violation\n"), table)
		require.Contains(t, p.ok("audit", "--pool", "summer"), "0 violations", "the other pool is in order")
		tamper(t, url, broken.mend)
		p.ok("audit")
	}
	// An award is deleted, and the stock reduced below the issued units. The schema
	// refuses a counter beyond its stock, so only the award rows show the fault.
	tamper(t, url, `DELETE FROM awards WHERE pool_id = 'spring' AND draw_id = 'k1'`)
	rules, _ := audited(t, p)
	require.ElementsMatch(t, []string{"issued-is-awards", "version-gap", "units-count-up"}, rules)
	tamper(t, url, `UPDATE prizes SET issued = 1, stocked = 1 WHERE pool_id = 'spring'`)
	rules, table := audited(t, p)
	require.Contains(t, rules, "over-issued")
	require.Contains(t, table, "  spring   gold        1       1       3          0            2\n")
	_, err := rows(t, url).ExecContext(t.Context(), `UPDATE prizes SET issued = 2 WHERE pool_id = 'spring'`)
	require.Error(t, err, "the schema says it too")
}

// TestAuditBesideDraws: an audit that runs while the service draws sees one state of the
// pool.
func TestAuditBesideDraws(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"sqlite", "postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := spring(t, stocktest.Migrated(t, dialect))
			s := p.serve()
			done := make(chan struct{})
			go func() {
				defer close(done)
				for begun := time.Now(); time.Since(begun) < commandMax; {
					status, _, err := s.draw("spring", "u1", "")
					if err != nil || status != http.StatusOK && status < http.StatusServiceUnavailable { // sold out
						return
					}
				}
			}()
			for running := true; running; {
				select {
				case <-done:
					running = false
				default:
				}
				p.ok("audit", "--pool", "spring")
			}
			require.Contains(t, p.ok("pool", "show", "spring"), "gold    19.90  10       10      0 ")
		})
	}
}
