package cli

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// TestMomentsSurviveKills: three instances draw while moments come due, and two of them
// are killed. Each moment is given once, to the first draw that can get it.
func TestMomentsSurviveKills(t *testing.T) {
	servertest.Long(t)
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := on(t, stocktest.Migrated(t, dialect))
			p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1", "--prize", "id=none,kind=blank")
			p.ok("rules", "set", "--pool", "spring", p.written("rules.json", `{"fallback":"none","win":"1/1000000000"}`))
			const moments = 60
			from := planSoon(t, func(at time.Time) outcome {
				return p.run("agenda", "spread", "--pool", "spring", "--prize", "gold", "--units", fmt.Sprint(moments),
					"--from", rfc(at), "--to", rfc(at.Add(3*time.Second)), "--random", "--moment")
			})
			services := []*process{p.start(), p.start(), p.start()}
			crowds := make([]crowd, len(services))
			for i, s := range services {
				crowds[i].round = i
				crowds[i].drawFrom(s.service, 3)
			}
			for i, s := range services[:2] {
				time.Sleep(time.Until(from.Add(time.Duration(i+1) * time.Second)))
				code, _ := s.signal(syscall.SIGKILL)
				require.Equal(t, -1, code)
			}
			time.Sleep(time.Until(from.Add(3500 * time.Millisecond)))
			// By now all moments are due: each further draw takes a pending moment.
			for i := range moments {
				services[2].won("spring", "u1", fmt.Sprint("the-last", i))
			}
			code, _ := services[2].signal(syscall.SIGTERM)
			require.Equal(t, 0, code)
			for i := range crowds {
				crowds[i].under.Wait()
			}
			require.Contains(t, p.ok("audit", "--deep"), "0 violations")
			taken := 0
			db := rows(t, p.vars["DRAWSVC_DATABASE"])
			require.NoError(t, db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM agenda WHERE taken > 0`).Scan(&taken))
			require.Equal(t, moments, taken)
			require.NoError(t, db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM redirects WHERE why = 'moment'`).Scan(&taken))
			require.Equal(t, moments, taken)
		})
	}
}
