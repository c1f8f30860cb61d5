package experiments

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/faults/history"
)

// TestOwnReplays: if a winner's answer came too late, the replay that it got counts as
// the win. Other replays remain replays.
func TestOwnReplays(t *testing.T) {
	op := func(key string, replayed bool) history.Op {
		return history.Op{Key: key, Status: 200, Replayed: replayed}
	}
	for name, c := range map[string]struct {
		came  []bool
		first bool // the first answer is a replay
		known bool
		wins  int
	}{
		"in time":           {came: []bool{false, true, true}, wins: 1},
		"late":              {came: []bool{false, true, true}, first: true, wins: 1},
		"nobody came again": {came: []bool{false, false, false}, first: true},
		"known before":      {came: []bool{false, true, true}, first: true, known: true},
	} {
		answered := []history.Op{op("k", c.first), op("k", true), op("k", true)}
		ownReplays(answered, c.came, map[string]bool{"k": c.known})
		wins := 0
		for _, o := range answered {
			if o.Answer() == "won" {
				wins++
			}
		}
		require.Equal(t, c.wins, wins, name)
	}
}
