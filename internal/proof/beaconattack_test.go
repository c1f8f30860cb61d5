package proof

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest/drand"
)

// signedAnew replaces the signature of the last opening by one of another chain.
func signedAnew(all []*Line, chain *drand.Chain) []*Line {
	i := lastOf(all, KindOpen)
	own := *all[i]
	own.Signature = chain.Sign(own.Round)
	all[i] = &own
	return all
}

func firstOf(all []*Line, kind Kind) int {
	return slices.IndexFunc(all, func(l *Line) bool { return l.Kind == kind })
}

func lastOf(all []*Line, kind Kind) int {
	for i := len(all) - 1; ; i-- {
		if all[i].Kind == kind {
			return i
		}
	}
}

func without(all []*Line, i int) []*Line { return append(all[:i:i], all[i+1:]...) }

func before(all []*Line, i int, l Line) []*Line {
	return append(all[:i:i], append([]*Line{&l}, all[i:]...)...)
}

// changedAt returns the log with one line replaced.
func changedAt(all []*Line, i int, change func(*Line)) []*Line {
	own := *all[i]
	change(&own)
	all[i] = &own
	return all
}

// beaconAttacks are attacks by an operator who has the seed and signs everything again.
// passes means that the files alone do not reveal the attack.
func beaconAttacks(w *world) []attack {
	signed := func(round int64) string { return w.chain.Sign(round) }
	move := func(at time.Time) Line {
		return Line{At: at, Kind: KindStock, PrizeID: "gold", Delta: 9, Reason: "found", Salt: w.salts.StockSalt(1)}
	}
	return []attack{
		{name: "another round's signature", edit: func(all []*Line, _ int) []*Line {
			return changedAt(all, lastOf(all, KindOpen), func(l *Line) { l.Signature = signed(l.Round + 1) })
		}},
		{name: "another round", edit: func(all []*Line, _ int) []*Line {
			return changedAt(all, lastOf(all, KindOpen), func(l *Line) { l.Round++; l.Signature = signed(l.Round) })
		}},
		{name: "another round, announced too", edit: func(all []*Line, _ int) []*Line { // another round results in other draws
			all = changedAt(all, lastOf(all, KindOpening), func(l *Line) { l.Round++ })
			return changedAt(all, lastOf(all, KindOpen), func(l *Line) { l.Round++; l.Signature = signed(l.Round) })
		}},
		{name: "another chain's round", edit: func(all []*Line, _ int) []*Line { return signedAnew(all, drand.New(w.t, 1_700_000_000, 3)) }},
		{name: "no round", edit: func(all []*Line, _ int) []*Line {
			return changedAt(all, lastOf(all, KindOpen), func(l *Line) { l.Round, l.Signature = 0, "" })
		}},
		{name: "not announced", edit: func(all []*Line, _ int) []*Line { return without(all, lastOf(all, KindOpening)) }},
		{name: "announced while open", edit: func(all []*Line, _ int) []*Line {
			i := lastOf(all, KindOpen)
			return before(all, i+1, Line{At: all[i].At, Kind: KindOpening, Round: w.beacon.Next(all[i].At)})
		}},
		{name: "announced twice", edit: func(all []*Line, _ int) []*Line {
			i := lastOf(all, KindOpening)
			return before(all, i, *all[i])
		}},
		{name: "announced when it was near", edit: func(all []*Line, _ int) []*Line {
			return changedAt(all, lastOf(all, KindOpening), func(l *Line) { l.Round = w.beacon.Next(l.At) - 1 })
		}},
		{name: "a round announced again", edit: func(all []*Line, _ int) []*Line { // both lines have the same time
			for i := range all {
				own := *all[i]
				own.At, all[i] = all[0].At, &own
			}
			first, last := all[firstOf(all, KindOpen)], lastOf(all, KindOpen)
			all = changedAt(all, last, func(l *Line) { l.Round, l.Signature = first.Round, first.Signature })
			return changedAt(all, lastOf(all, KindOpening), func(l *Line) { l.Round = first.Round })
		}},
		{name: "a round that is used again", edit: func(all []*Line, _ int) []*Line {
			i := lastOf(all, KindPause)
			return before(all, i+1, *all[lastOf(all, KindOpen)])
		}},
		{name: "stock moved between the round and the opening", edit: func(all []*Line, _ int) []*Line {
			i := lastOf(all, KindOpen)
			return before(all, i, move(all[i].At))
		}},
		{name: "rules between the round and the opening", edit: func(all []*Line, _ int) []*Line {
			i := lastOf(all, KindOpen)
			return before(all, i, Line{At: all[i].At, Kind: KindRules, Document: "null"})
		}},
		{name: "stock moved while open", edit: func(all []*Line, _ int) []*Line {
			i := lastOf(all, KindOpen)
			return before(all, i+1, move(all[i].At))
		}},
		{name: "rules while open", edit: func(all []*Line, _ int) []*Line {
			i := lastOf(all, KindOpen)
			return before(all, i+1, Line{At: all[i].At, Kind: KindRules, Document: "null"})
		}},
		{name: "opened before the commitment with a round", edit: func(all []*Line, _ int) []*Line {
			return before(all, 1, *all[lastOf(all, KindOpen)])
		}},
		{name: "announced before the commitment", edit: func(all []*Line, _ int) []*Line {
			return before(all, 1, Line{At: all[0].At, Kind: KindOpening, Round: 1 << 30})
		}},
		{name: "a value corrected while open", edit: func(all []*Line, _ int) []*Line {
			all = before(all, 1, Line{At: all[0].At, Kind: KindStock, PrizeID: "pin", Name: "Pin", Value: "1.00", Reason: "new", Salt: w.salts.StockSalt(2)})
			i := lastOf(all, KindOpen)
			return before(all, i+1, Line{At: all[i].At, Kind: KindPrize, PrizeID: "pin", Name: "Pin", Value: "2.00"})
		}},
	}
}

// TestBeaconAttacks: if the files reveal an attack on the beacon, both verifiers find it,
// at the same entry.
func TestBeaconAttacks(t *testing.T) {
	for _, a := range beaconAttacks(blind(t)) {
		t.Run(a.name, func(t *testing.T) {
			w := blind(t)
			honest := w.publishAll()
			for _, mine := range beaconAttacks(w) {
				if mine.name != a.name {
					continue
				}
				changed := edited(t, honest["log.jsonl"].Data, func(all []*Line) []*Line { return mine.edit(all, 0) })
				w.recommit(changed)
				operator := w.files(changed, nil)
				r := verified(t, operator, VerifyOptions{})
				require.False(t, r.OK)
				require.Equal(t, a.name == "another round, announced too", r.Rule == RuleAward, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
				code, last := secondSays(t, operator)
				require.Equal(t, 3, code, last)
				require.True(t, strings.HasPrefix(last, fmt.Sprintf("entry %d: %s: ", r.Entry, r.Rule)), "%s, and in Go entry %d: %s: %s", last, r.Entry, r.Rule, r.Detail)
			}
		})
	}
}

// recommit makes the commitment match a log whose earlier entries were changed. The log
// keeps the old hash of the commitment: a fault in an earlier line is found before that
// hash is compared.
func (w *world) recommit(log []byte) {
	var tree Tree
	for n, b := range linesOf(log) {
		l, err := ParseLine(b)
		require.NoError(w.t, err)
		if l.Kind == KindCommit {
			w.commitment.Size, w.commitment.Root = int64(n), tree.Root()
			return
		}
		tree.Add(b)
	}
}

func linesOf(log []byte) (all [][]byte) {
	for _, b := range strings.SplitAfter(string(log), "\n") {
		all = append(all, []byte(b))
	}
	return all[:len(all)-1]
}
