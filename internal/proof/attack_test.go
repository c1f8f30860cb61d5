package proof

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/fold"
)

// simple returns a pool without rules: 300 draws, one restock, two checkpoints.
func simple(t *testing.T) *world {
	w := newWorld(t)
	w.prize("silver", 900, "5.00")
	w.prize("gold", 600, "19.90")
	w.commit(4, 100)
	w.state(draw.StateOpen)
	for i := range 300 {
		if i == 150 {
			w.restock("gold", 40)
			w.check()
		}
		w.draw(fmt.Sprintf("d%d", i), fmt.Sprintf("u%d", i%7), 1)
	}
	return w
}

// edited returns the log with its lines changed by edit and their versions numbered
// again.
func edited(t *testing.T, log []byte, edit func([]*Line) []*Line) []byte {
	var all []*Line
	for b := range bytes.Lines(log) {
		l, err := ParseLine(b)
		require.NoError(t, err)
		all = append(all, l)
	}
	var out []byte
	for i, l := range edit(all) {
		own := *l
		own.Version = int64(i) + 1
		out = own.Append(out)
	}
	return out
}

func awardsOf(all []*Line) (at []int) {
	for i, l := range all {
		if l.Kind == KindAward {
			at = append(at, i)
		}
	}
	return at
}

// renumbered numbers the units of each prize again, in the order of its awards.
func renumbered(all []*Line) []*Line {
	units := map[string]int64{}
	for i, l := range all {
		if l.Kind == KindAward {
			own := *l
			units[l.PrizeID]++
			own.Unit = units[l.PrizeID]
			all[i] = &own
		}
	}
	return all
}

func other(prize string) string { return map[string]string{"gold": "silver", "silver": "gold"}[prize] }

// attack changes the published files. place, a number below 100, selects the changed
// line.
type attack struct {
	name string
	edit func(all []*Line, place int) []*Line
	// passes means that the published files alone do not reveal the attack, if the operator
	// signs everything again.
	passes bool
}

func attacks(w *world) []attack {
	return []attack{
		{name: "an award changed", edit: func(all []*Line, n int) []*Line {
			own := *all[awardsOf(all)[n]]
			own.PrizeID = other(own.PrizeID)
			all[awardsOf(all)[n]] = &own
			return renumbered(all)
		}},
		{name: "an award dropped", edit: func(all []*Line, n int) []*Line {
			at := awardsOf(all)[n]
			return renumbered(append(all[:at:at], all[at+1:]...))
		}},
		{name: "prizes of two awards swapped", edit: func(all []*Line, n int) []*Line {
			at := awardsOf(all)
			for i := n + 1; ; i++ {
				if a, b := *all[at[n]], *all[at[i]]; a.PrizeID != b.PrizeID {
					a.PrizeID, b.PrizeID = b.PrizeID, a.PrizeID
					all[at[n]], all[at[i]] = &a, &b
					return renumbered(all)
				}
			}
		}},
		{name: "an award invented", edit: func(all []*Line, n int) []*Line {
			at := awardsOf(all)[n]
			own := *all[at]
			own.Draw, own.PrizeID = w.salts.DrawTag("invented"), "gold"
			return renumbered(append(all[:at:at], append([]*Line{&own}, all[at:]...)...))
		}},
		{name: "a stock move changed", edit: func(all []*Line, n int) []*Line {
			own := *all[1]
			own.Delta += 200 + int64(n) // fewer added units might not change any later award
			all[1] = &own
			return all
		}},
		{name: "a move invented", edit: func(all []*Line, n int) []*Line {
			at := awardsOf(all)[n]
			move := &Line{At: all[at].At, Kind: KindStock, PrizeID: "gold", Delta: 300, Reason: "found", Salt: w.salts.StockSalt(1)}
			return append(all[:at:at], append([]*Line{move}, all[at:]...)...)
		}},
		{name: "truncated and closed", passes: true, edit: func(all []*Line, n int) []*Line {
			return append(all[:awardsOf(all)[n]:awardsOf(all)[n]], all[len(all)-1])
		}},
		{name: "a draw dropped, and all behind recomputed", passes: true, edit: func(all []*Line, n int) []*Line {
			at := awardsOf(all)[n]
			return recomputed(w, append(all[:at:at], all[at+1:]...))
		}},
		{name: "a draw invented, and all behind recomputed", passes: true, edit: func(all []*Line, n int) []*Line {
			at := awardsOf(all)[n]
			own := *all[at]
			own.Draw = w.salts.DrawTag("invented")
			return recomputed(w, append(all[:at:at], append([]*Line{&own}, all[at:]...)...))
		}},
		{name: "owners of two awards swapped", passes: true, edit: func(all []*Line, n int) []*Line {
			at := awardsOf(all)
			a, b := *all[at[n]], *all[at[n+1]]
			a.Draw, a.User, b.Draw, b.User = b.Draw, b.User, a.Draw, a.User
			all[at[n]], all[at[n+1]] = &a, &b
			return all
		}},
	}
}

// recomputed replaces every award by the one that the seed determines for its new
// version.
func recomputed(w *world, all []*Line) []*Line {
	numbers, _ := NewNumbers(w.commitment, w.commitment.Size+1, w.seed, w.commitment.Epochs)
	v := &verifier{folding: folding{recompute: fold.NewRecomputation("spring", numbers, nil)}, commitment: w.commitment}
	v.recompute.SetState(draw.StateOpen)
	for i, l := range all {
		own := *l
		all[i], own.Version = &own, int64(i)+1
		switch own.Kind {
		case KindStock:
			_ = v.stock(&own)
		case KindAward:
			a, err := v.recompute.Next(own.Version, draw.Request{DrawID: own.Draw, UserID: own.User, Count: 1}, 1, own.At)
			if err != nil {
				return all
			}
			own.PrizeID, own.Unit = a.PrizeID, a.Unit
			_ = v.recompute.Take(&a)
		default:
		}
	}
	return all
}

// TestAttacks: an operator may sign everything again. Even then the files reveal each
// attack, except for those that pass. A checkpoint that was kept earlier reveals these,
// too. An outsider cannot sign, and is found at once.
func TestAttacks(t *testing.T) {
	t.Parallel()
	w := simple(t)
	honest := w.publishAll()
	require.True(t, verified(t, honest, VerifyOptions{}).OK)
	kept := honest["checkpoint"].Data
	for _, a := range append(attacks(w), moreAttacks(w)...) {
		for i := range few(8, 100) {
			place := rand.IntN(100) //nolint:gosec // any will do
			changed := edited(t, honest["log.jsonl"].Data, func(all []*Line) []*Line { return a.edit(all, place) })
			require.NotEqual(t, string(honest["log.jsonl"].Data), string(changed), a.name)
			outsider := clone(honest)
			outsider["log.jsonl"] = &fstest.MapFile{Data: changed}
			require.False(t, verified(t, outsider, VerifyOptions{}).OK, "%s, by an outsider", a.name)
			operator := w.files(changed, nil)
			r := verified(t, operator, VerifyOptions{})
			require.Equal(t, a.passes, r.OK, "%s at %d, by the operator: %s: %s", a.name, place, r.Rule, r.Detail)
			require.False(t, verified(t, operator, VerifyOptions{Kept: [][]byte{kept}}).OK, "%s, with a kept checkpoint", a.name)
			if i > 1 { // each run of the second verifier starts a process
				continue
			}
			code, last := secondSays(t, operator)
			require.Equal(t, map[bool]int{true: 0, false: 3}[a.passes], code, "%s, in Python: %s", a.name, last)
			if !a.passes {
				require.True(t, strings.HasPrefix(last, fmt.Sprintf("entry %d: %s: ", r.Entry, r.Rule)), "%s: %s, and in Go entry %d: %s", a.name, last, r.Entry, r.Rule)
			}
		}
	}
}

// TestReplacedSeedAndCommitmentAreFound: another seed, commitment or key is found.
func TestReplacedSeedAndCommitmentAreFound(t *testing.T) {
	w, rival := simple(t), simple(t)
	honest, foreign := w.publishAll(), rival.publishAll()
	for _, name := range []string{"reveal", "commitment", "key", "checkpoint", "checkpoints", "log.jsonl"} {
		mixed := clone(honest)
		mixed[name] = foreign[name]
		require.False(t, verified(t, mixed, VerifyOptions{}).OK, name)
	}
	require.Equal(t, RuleSignature, verified(t, foreign, VerifyOptions{Key: w.key}).Rule)
	require.Equal(t, RuleKept, verified(t, honest, VerifyOptions{Kept: [][]byte{foreign["commitment"].Data}}).Rule)

	// The operator later commits to another chain, and signs everything again.
	own := *w.commitment
	own.Anchor = rival.seed.Before(own.Epochs)
	w.commitment, w.seed = &own, rival.seed
	require.Equal(t, RuleCommitment, verified(t, w.publishAll(), VerifyOptions{}).Rule)
}
