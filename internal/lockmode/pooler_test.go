package lockmode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/locker"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// pooledShare determines how many promises each cell checks through the proxy: one in
// pooledShare. The pooling modes check different ones, so that each promise is checked.
const pooledShare = 3

// TestPgBouncer: through a proxy that gives each transaction another session, every
// mode keeps its promises, with every lock that works there.
func TestPgBouncer(t *testing.T) {
	cases := []promise{
		{"sells out exactly", testSellOut},
		{"sells out exactly without group draws", testSellOutOneByOne},
		{"sells out exactly whatever becomes of commits", testSellOutThroughFaults},
		{"fresh", testFresh},
		{"restocked while drawn from", testRestock},
		{"same key at once", testSameKey},
	}
	for _, c := range cells() {
		row, _, _ := place(c)
		if c.dialect != "postgres" {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			proxy := servertest.StartPgBouncer(t, stocktest.Migrated(t, "postgres"), servertest.Args("server_round_robin=1", "default_pool_size=60"))
			if c.lock == "session" {
				store := stocktest.Open(t, proxy.URL(), stock.Options{})
				_, err := locker.Open(t.Context(), "session:", locker.Options{TTL: lockTTL, Database: store})
				require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%v", err)
				require.ErrorContains(t, err, "pgbouncer")
				return
			}
			a := newArenaOn(t, c, proxy.URL())
			for column, p := range cases {
				if servertest.Every() || servertest.Meets(row, column, 0, pooledShare) {
					t.Run(p.name, func(t *testing.T) { p.test(t, a) })
				}
			}
		})
	}
}
