package proof

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

func (w *world) skip(n int) {
	for range n {
		w.change(draw.WhatSkipped, `{"reason":"restored"}`)
	}
}

// TestSkippedVersionsAreCounted: both verifiers accept skipped versions while a pool is
// paused, with and without a beacon. They report the number of these versions.
func TestSkippedVersionsAreCounted(t *testing.T) {
	pools := map[string]func(*testing.T) *world{"plain": simple, "beacon": blind}
	for name, lived := range pools {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := lived(t)
			w.state(draw.StatePaused)
			w.skip(3)
			if w.beacon == nil {
				w.state(draw.StateOpen)
			} else {
				w.announce(0)
				w.skip(1) // this withdraws the announced round
				w.openWith(w.announce(0))
			}
			for i := range 20 {
				require.NotEmpty(t, w.draw(fmt.Sprintf("after-%d", i), "u", 1))
			}
			files := w.publishAll()
			r := verified(t, files, VerifyOptions{Key: w.key})
			require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
			skipped := map[string]int64{"plain": 3, "beacon": 4}[name]
			require.Equal(t, skipped, r.Skipped)
			code, last := secondSays(t, files, "--key", w.key)
			require.Equal(t, 0, code, last)
			require.Regexp(t, fmt.Sprintf(`, %d versions skipped$`, skipped), last)
		})
	}
}

// TestSkipsOutOfPlace: both verifiers refuse a skipped version before the commitment,
// while the pool is open, or after it was closed. They also refuse an opening if a
// version was skipped after the announcement of its round.
func TestSkipsOutOfPlace(t *testing.T) {
	for name, c := range map[string]struct {
		lived func(*testing.T) *world
		rule  string
	}{
		"before the commitment": {func(t *testing.T) *world {
			w := newWorld(t)
			w.prize("silver", 900, "5.00")
			w.skip(1)
			w.commit(4, 100)
			w.state(draw.StateOpen)
			return w
		}, RuleLife},
		"while open": {func(t *testing.T) *world {
			w := simple(t)
			w.skip(1)
			return w
		}, RuleLife},
		"after the close": {func(t *testing.T) *world {
			w := simple(t)
			w.state(draw.StateClosed)
			w.skip(1)
			return w
		}, RuleLife},
		"after the round was announced": {func(t *testing.T) *world {
			w := blind(t)
			w.state(draw.StatePaused)
			round := w.announce(0)
			w.skip(1)
			w.openWith(round)
			return w
		}, RuleBeacon},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := c.lived(t)
			files := w.publishAll()
			r := verified(t, files, VerifyOptions{Key: w.key})
			require.False(t, r.OK)
			require.Equal(t, c.rule, r.Rule, r.Detail)
			code, last := secondSays(t, files, "--key", w.key)
			require.NotZero(t, code)
			require.Contains(t, last, fmt.Sprintf("entry %d: %s: ", r.Entry, c.rule))
		})
	}
}
