package cli

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// flood makes calls of each kind, over and over, until the function that it
// returns is called, which returns how many were answered with which status.
func flood(t *testing.T, s *service) (end func() map[int]int64) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: commandMax}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var counts [600]atomic.Int64
	for _, call := range [][2]string{
		{"/pools/spring", ""}, {"/admin/pools/spring", ""}, {"/admin/pools", ""}, {"/admin/pools/spring/audit", ""},
		{"/admin/pools/spring/moves", "text/csv"}, {"/admin/pools/spring/log", "application/x-ndjson"},
	} {
		for range 2 {
			all.Go(func() {
				for ctx.Err() == nil {
					request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+call[0], nil)
					if err != nil {
						t.Error(err)
						return
					}
					request.Header.Set("Authorization", "Bearer "+s.token)
					request.Header.Set("Accept", call[1])
					answer, err := client.Do(request)
					if err != nil {
						continue // it was the end
					}
					counts[answer.StatusCode].Add(1)
					_ = answer.Body.Close() // not read to its end: a caller that goes away
				}
			})
		}
	}
	return func() map[int]int64 {
		cancel()
		all.Wait()
		client.CloseIdleConnections()
		found := map[int]int64{}
		for status := range counts {
			if n := counts[status].Load(); n > 0 {
				found[status] = n
			}
		}
		return found
	}
}

// TestFloodOfReads: while reads, audits and exports come as fast as they can, the
// service says that it is ready, admins pause and open pools, and draws are won.
func TestFloodOfReads(t *testing.T) {
	servertest.Long(t) // both processors work all the while
	t.Parallel()
	for _, dialect := range []string{"postgres", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := on(t, stocktest.Migrated(t, dialect))
			p.ok("migrate", "up")
			p.ok("pool", "create", "spring")
			var file strings.Builder
			file.WriteString("prize,name,value,stock\n")
			for i := range 1000 {
				fmt.Fprintf(&file, "p%d,Prize %d,1.00,5\n", i, i)
			}
			p.stdin = file.String()
			p.ok("stock", "import", "--pool", "spring", "-")
			s := p.serve("--request-timeout", "20s")
			end := flood(t, s)
			// On a machine that is busy with this a check may take its two seconds, and what
			// it found is the answer for one more.
			const enough, asksMax = 20, 30
			ready, asks := 0, 0
			for ; ready < enough && asks < asksMax; asks++ {
				status, _, err := s.ask("GET", "/readyz", "")
				require.NoError(t, err)
				if status == http.StatusOK {
					ready++
				}
				if asks%5 == 0 {
					s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"paused"}`)
					s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"open"}`)
					s.won("spring", "u", "")
				}
				time.Sleep(100 * time.Millisecond) // probes come at intervals
			}
			counts := end()
			t.Logf("ready %d of %d, flood %v", ready, asks, counts)
			require.Equal(t, enough, ready, "asked %d times", asks)
			require.Positive(t, counts[http.StatusOK])
			require.Positive(t, counts[http.StatusServiceUnavailable], "audits and exports beyond the bound are turned away")
			require.Len(t, counts, 2, "nothing else is answered: %v", counts)
		})
	}
}
