package cli

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestMomentsOfBeacons: while a pool is open with a round of its beacon, its stock does
// not move. So no moment can be planned in it, and a pool with open moments cannot be
// committed with a beacon. A pool whose stock may move, or that has no beacon, can have
// moments.
func TestMomentsOfBeacons(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			recipients, _ := keyFiles(t)
			p := on(t, stocktest.Migrated(t, dialect))
			commit := func(pool string, flags ...string) []string {
				return append([]string{"pool", "commit", pool, "--origin=draws.example.org", "--seed-recipients", recipients}, flags...)
			}
			moment := func(pool string) []string {
				return []string{"agenda", "add", "--pool", pool, "--at", "2999-01-05T09:00:00Z", "--moment", "gold"}
			}
			for _, pool := range []string{"still", "moving", "plain", "late"} {
				p.ok("pool", "create", pool, "--state=paused", "--prize", "id=gold,stock=5")
			}
			p.ok(commit("still", "--beacon=quicknet")...)
			p.refused(exitFailure, "does not move while it is open with a round of its beacon", moment("still")...)
			p.ok(commit("moving", "--beacon=quicknet", "--stock-while-open")...)
			require.Contains(t, p.ok(moment("moving")...), "1 item planned")
			p.ok(commit("plain")...)
			p.ok(moment("plain")...)
			p.ok(moment("late")...)
			p.refused(exitFailure, "has open moments", commit("late", "--beacon=quicknet")...)
			p.ok(commit("late", "--beacon=quicknet", "--stock-while-open")...)
		})
	}
}
