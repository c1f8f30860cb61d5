package cli

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// TestPgBouncer: the service needs only the proxy's URL, and settings that cannot work
// with the proxy are refused at the start.
func TestPgBouncer(t *testing.T) {
	t.Parallel()
	database := servertest.Postgres(t)
	proxy := servertest.StartPgBouncer(t, database)
	p := on(t, proxy.URL())
	var all sync.WaitGroup
	for range 3 {
		all.Go(p.migrateUp)
	}
	all.Wait()
	p.ok("pool", "create", "spring", "--prize", "id=gold,stock=40")

	const refusal = `lock "session:" is not possible through a pooler that shares sessions (pgbouncer in transaction mode)`
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0", "--mode", "external", "--lock", "session:"},
		{"serve", "--listen", "127.0.0.1:0", "--lock", "session:"}, // a pool may change to external mode later
		{"doctor", "--lock", "session:"},
	} {
		line := p.refused(exitUsage, refusal, args...)
		require.Contains(t, line, `or take the lock "table:" or "row:"`)
	}
	require.Contains(t, p.run("doctor").stdout, "note: pooler: a proxy such as pgbouncer is in between, pooling by transaction\n")

	for i, args := range [][]string{
		{"--mode", "for-update"}, {"--mode", "optimistic"}, {"--mode", "external"}, {"--mode", "external", "--lock", "row:"},
	} {
		s := p.serve(args...)
		for n := range 5 {
			s.wonByLock("spring", "u1", fmt.Sprintf("k%d-%d", i, n))
		}
		proxy.Kill()
		require.NoError(t, proxy.Start())
		require.Eventually(t, func() bool {
			status, _, err := s.draw("spring", "u1", fmt.Sprintf("after-%d", i))
			return err == nil && status == http.StatusOK
		}, commandMax, 50*time.Millisecond, "the proxy is back: %v", args)
		require.Equal(t, exitOK, s.end().code)
	}
	require.Contains(t, p.ok("audit"), "1 pool, 0 violations")
	require.Contains(t, p.ok("pool", "show", "spring"), "gold   0.00   40       24      16 ")

	// In session mode each client has its own session.
	whole := servertest.StartPgBouncer(t, database, servertest.Args("pool_mode=session", "default_pool_size=60"))
	s := on(t, whole.URL()).serve("--mode", "external", "--lock", "session:")
	s.wonByLock("spring", "u1", "whole")
	require.Equal(t, exitOK, s.end().code)
}
