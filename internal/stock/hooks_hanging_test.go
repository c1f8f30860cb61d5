package stock_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/hook"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

const (
	// hangingHooks is one less than the maximum number of hooks.
	hangingHooks = 19
	// lagMax is the maximum time from a commit until the working receiver has the event.
	lagMax = 5 * time.Second
	// growthMax is the maximum growth of the heap while receivers hang.
	growthMax = 32 << 20
)

// startHanging starts a receiver that accepts messages and never answers.
func startHanging(t *testing.T) (url string) {
	t.Helper()
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(ended) })
	return server.URL
}

func heapNow() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// judgeHanging reports how hooks with hanging receivers affect a hook whose receiver
// works: it checks when events arrive there, and how the heap grows.
func judgeHanging(t *testing.T, s *stock.Store, feed hook.Feed, limit time.Duration) (faults []string) {
	t.Helper()
	r := stocktest.NewReceiver(t)
	stocktest.Pool(t, s, "p", 1000)
	hanging := startHanging(t)
	for i := range hangingHooks {
		_, err := s.CreateHook(t.Context(), hook.Create{URL: fmt.Sprint(hanging, "/", i), FromStart: true})
		require.NoError(t, err)
	}
	_, err := s.CreateHook(t.Context(), hook.Create{URL: r.URL, Filter: hook.Filter{Types: []hook.Type{hook.TypeWon}}, FromStart: true})
	require.NoError(t, err)
	before := heapNow()
	defer stocktest.StartRelay(t, s, feed)()
	for drawn := range 5 {
		p, err := s.Pool(t.Context(), "p")
		require.NoError(t, err)
		names := make([]string, 50)
		for i := range names {
			names[i] = fmt.Sprint("d", drawn, "-", i)
		}
		require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("p", p.Version, "a", p.Prizes[0].Issued, names...)))
		wanted := (drawn + 1) * len(names)
		for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
			events, _, _ := r.Of("p")
			if len(events) >= wanted {
				break
			}
			if time.Since(begun) > limit {
				return append(faults, fmt.Sprintf("%d of %d events arrived within %v", len(events), wanted, limit))
			}
		}
	}
	if after := heapNow(); after > before+growthMax {
		faults = append(faults, fmt.Sprintf("the heap grew by %d bytes", after-before))
	}
	return faults
}

// queued makes all hooks share one queue, so that a hook waits for the hooks before it.
// The first hook, which has no filter, has a hanging receiver.
type queued struct{ *stock.Store }

// Waiting implements hook.Feed.
func (q queued) Waiting(ctx context.Context, hooks []hook.Hook, now time.Time) ([]hook.Cursor, error) {
	found, err := q.Store.Waiting(ctx, hooks, now)
	first := slices.IndexFunc(hooks, func(h hook.Hook) bool { return len(h.Filter.Types) == 0 })
	return slices.DeleteFunc(found, func(c hook.Cursor) bool { return c.HookID != hooks[first].ID }), err
}

// TestHangingReceiversHoldNobody: while 19 receivers hang, the events for a working
// receiver arrive in time, and the heap does not grow.
func TestHangingReceiversHoldNobody(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			s := stocktest.New(t, dialect)
			require.Empty(t, judgeHanging(t, s, s, lagMax))
		})
	}
}

// TestHangingReceiversCatch: the test fails for a relay whose hooks share one queue.
func TestHangingReceiversCatch(t *testing.T) {
	s := stocktest.New(t, "sqlite")
	require.NotEmpty(t, judgeHanging(t, s, queued{s}, time.Second))
}
