//go:build tidb

package cli

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
)

// TestTiDBKilled: three instances in three modes give exactly all units of a pool,
// although TiDB is killed twice under load. Callers retry a key until it wins or the pool
// is sold out. After that every key that won gets its award again.
func TestTiDBKilled(t *testing.T) {
	const stock, callers = 1500, 12
	server := servertest.Start(t, "mysql")
	p := on(t, server.URL())
	p.ok("migrate", "up")
	p.ok("pool", "create", "spring", "--prize", fmt.Sprintf("id=gold,stock=%d", stock))
	require.Contains(t, p.run("doctor").stdout, "one-store", "it is TiDB")
	var all []*service
	for _, mode := range lockmode.Names() {
		all = append(all, p.serve("--mode", mode))
	}
	var mu sync.Mutex
	var under sync.WaitGroup
	won, codes := map[string]string{}, map[int]int{}
	count := func() int { mu.Lock(); defer mu.Unlock(); return len(won) }
	for caller := range callers {
		under.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("c%d-%d", caller, n)
				for status := 0; status != http.StatusOK; {
					var body string
					var err error
					if status, body, err = all[(caller+n)%len(all)].draw("spring", "u1", key); err != nil {
						status = 0
					}
					mu.Lock()
					if codes[status]++; status == http.StatusOK {
						won[key] = body
					}
					mu.Unlock()
					if status == http.StatusConflict && strings.Contains(body, "sold-out") {
						return
					}
				}
			}
		})
	}
	for _, at := range []int{200, 600} {
		require.Eventually(t, func() bool { return count() >= at }, commandMax, 2*time.Millisecond)
		server.Kill()
		require.NoError(t, server.Start())
	}
	under.Wait()
	t.Logf("answers by status: %v", codes)
	require.Positive(t, codes[http.StatusServiceUnavailable]+codes[http.StatusGatewayTimeout], "the kills were met")
	require.Len(t, won, stock, "sold out exactly")
	require.Contains(t, p.ok("audit"), "0 violations")
	for key, body := range won {
		first, _ := parseDraw(t, body)
		again, replayed := all[0].won("spring", "u1", key)
		require.True(t, replayed)
		require.Equal(t, first, again)
	}
	var awards, units int
	counted := rows(t, server.URL()).QueryRowContext(t.Context(), `SELECT COUNT(*), COUNT(DISTINCT unit) FROM awards`)
	require.NoError(t, counted.Scan(&awards, &units))
	require.Equal(t, []int{stock, stock}, []int{awards, units}, "counted without the service")
}
