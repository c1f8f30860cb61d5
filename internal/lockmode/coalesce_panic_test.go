package lockmode_test

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock/stocktest"
)

// TestPanicBehindASharedCommit: a panic happens after the commit of a shared transaction,
// before its draws are answered. None of the draws gets a second unit, even those without
// a key.
func TestPanicBehindASharedCommit(t *testing.T) {
	t.Parallel()
	const pools, each = 30, 20
	a := newArena(t, cell{mode: lockmode.ForUpdate, dialect: "postgres"})
	var shared, settled, panics atomic.Int64
	s := a.serve(t, 0, func(s *settings) { s.Sharer = &sharing{Sharer: s.Sharer, applied: &shared} })
	s.seen.settling = func() {
		if isShared := strings.Contains(string(debug.Stack()), "writeAll"); isShared && settled.Add(1)%7 == 0 {
			panics.Add(1)
			panic("a defect")
		}
	}
	var group sync.WaitGroup
	for range pools {
		pool := a.pool(t, 1000)
		group.Go(func() {
			for n := range each {
				r := named(pool, fmt.Sprint("made-", n))
				r.Named = false
				if _, err := s.Draw(t.Context(), r); err != nil {
					t.Errorf("%s: %v", pool, err)
				}
			}
			awards, err := a.store(0).Awards(t.Context(), pool, 0, 2*each)
			if err != nil || len(awards) != each {
				t.Errorf("%s: %d awards of %d draws, %v", pool, len(awards), each, err)
			}
			stocktest.NoViolations(t, a.store(0), pool)
		})
	}
	group.Wait()
	t.Logf("%d settled, %d panics, %d draws in shared transactions", settled.Load(), panics.Load(), shared.Load())
	require.Positive(t, panics.Load())
	require.Greater(t, shared.Load(), int64(pools))
}
