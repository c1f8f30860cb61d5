package lockmode_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// hedge has the answers to keys that were sent to two instances at once, as a proxy that
// retries does.
type hedge struct {
	mu        sync.Mutex
	won, sold map[string]bool
	first     map[string]draw.Draw
	errs      []error
}

// hedgedPools and hedgedKeys are large enough that, near a sell-out, a service that
// refuses known keys is detected every time.
const (
	hedgedPools = 12
	hedgedUnits = 40
	hedgedKeys  = 60
)

// run sends every key to two of the instances.
func (h *hedge) run(t *testing.T, all []*service, pool string) {
	t.Helper()
	h.won, h.sold, h.first = map[string]bool{}, map[string]bool{}, map[string]draw.Draw{}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var group sync.WaitGroup
	for k := range hedgedKeys {
		for n := range 2 {
			group.Go(func() {
				r := named(pool, fmt.Sprint("k", k))
				d, err := insist(ctx, all[(k+n)%len(all):][:1], r, nil)
				h.note(r.DrawID, d, err)
			})
		}
	}
	group.Wait()
}

func (h *hedge) note(key string, d draw.Draw, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch draw.CodeOf(err) {
	case "":
		if h.won[key] {
			h.errs = append(h.errs, sameAwards(h.first[key].Awards, d.Awards))
		}
		h.won[key], h.first[key] = true, d
	case draw.CodeSoldOut:
		h.sold[key] = true
	default:
		h.errs = append(h.errs, err)
	}
}

// contradictions counts the keys that won at one instance and were refused by the other.
func (h *hedge) contradictions() (n int) {
	for key := range h.won {
		if h.sold[key] {
			n++
		}
	}
	return n
}

// testHedged: a key that the log holds is never refused, even if the last unit goes to
// another instance between two attempts.
func testHedged(t *testing.T, a *arena) {
	all := a.three(t)
	bad := 0
	for range hedgedPools {
		var h hedge
		pool := a.pool(t, hedgedUnits)
		h.run(t, all, pool)
		for _, err := range h.errs {
			require.NoError(t, err)
		}
		require.Len(t, h.won, hedgedUnits)
		bad += h.contradictions()
		require.NoError(t, audited(t, a.store(0), pool))
	}
	require.Zero(t, bad, "keys of %d won that were refused by the other instance", hedgedPools*hedgedUnits)
}
