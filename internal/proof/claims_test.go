package proof

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// claimedWorld returns a pool whose rules have claims. Units return while it is open or,
// if it has a beacon, while it is paused.
func claimedWorld(t *testing.T, hasBeacon bool) *world {
	w := newWorld(t)
	if hasBeacon {
		w.withBeacon()
	}
	w.prize("gold", 40, "19.90")
	w.prize("card", 40, "5.00")
	w.prize("none", -1, "0.00")
	w.commit(4, 100)
	document := `{"win":"1/2","fallback":"none","claims":{"within":"3s","prizes":["gold"]%s}}`
	w.rules(fmt.Sprintf(document, map[bool]string{true: `,"return":false`}[hasBeacon]))
	open := func() { w.state(draw.StateOpen) }
	if hasBeacon {
		open = func() { w.openWith(w.announce(0)) }
	}
	open()
	for i := range 60 {
		if i == 30 {
			if hasBeacon {
				w.state(draw.StatePaused)
			}
			w.restock("gold", 1)
			if hasBeacon {
				open()
			}
		}
		w.draw(fmt.Sprintf("d%d", i), "u", 1)
	}
	return w
}

// TestVerifiersReadClaims: both verifiers accept a pool whose rules have claims, with and
// without a beacon. They refuse claims that name a blank or a missing prize.
func TestVerifiersReadClaims(t *testing.T) {
	t.Parallel()
	for name, hasBeacon := range map[string]bool{"units return": false, "with a beacon none returns": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := claimedWorld(t, hasBeacon).publishAll()
			r := verified(t, files, VerifyOptions{})
			require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
			require.EqualValues(t, 60, r.Recomputed)
			code, last := secondSays(t, files)
			require.Equal(t, 0, code, last)
		})
	}
	for _, claims := range []string{`"prizes":["none"]`, `"prizes":["gold","none"]`, `"prizes":["silver"]`} {
		w := claimedWorld(t, false)
		w.publish = func(l *Line) { l.Document = strings.Replace(l.Document, `"prizes":["gold"]`, claims, 1) }
		files := w.publishAll()
		r := verified(t, files, VerifyOptions{})
		require.False(t, r.OK, claims)
		code, last := secondSays(t, files)
		require.NotEqual(t, 0, code, claims)
		require.Contains(t, last, r.Rule)
	}
}
