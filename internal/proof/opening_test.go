package proof

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest/drand"
)

// withBeacon gives the world a chain of its own, before it is committed.
func (w *world) withBeacon() {
	w.chain = drand.New(w.t, 1_700_000_000, 3)
	var err error
	w.beacon, err = ParseBeacon(w.chain.Beacon())
	require.NoError(w.t, err)
}

// announce announces a round, as many rounds later than the first that may be.
func (w *world) announce(later int64) int64 {
	round := max(w.beacon.Next(w.at.Add(time.Microsecond)), w.latest+1) + later
	w.latest = round
	w.change(draw.WhatOpening, fmt.Sprintf(`{"round":%d}`, round))
	return round
}

// openWith opens the pool with a round.
func (w *world) openWith(round int64) {
	signature := w.chain.Sign(round)
	w.change(draw.WhatState, fmt.Sprintf(`{"state":"open","round":%d,"signature":%q}`, round, signature))
	w.pool.State = draw.StateOpen
	mixed, err := w.beacon.Mixed(draw.Round{Number: round, Signature: signature})
	require.NoError(w.t, err)
	w.numbers.Mix(mixed)
}

// blind is a pool with a beacon: 100 draws in each of three openings, and stock
// and rules that move between them.
func blind(t *testing.T) *world {
	w := newWorld(t)
	w.withBeacon()
	w.prize("silver", 900, "5.00")
	w.prize("gold", 600, "19.90")
	w.commit(4, 200)
	for opening := range 3 {
		w.openWith(w.announce(int64(opening)))
		for i := range 100 {
			w.draw(fmt.Sprintf("d%d-%d", opening, i), fmt.Sprintf("u%d", i%7), 1)
		}
		w.state(draw.StatePaused)
		w.restock("gold", 40)
		if opening == 1 {
			w.prize("blank", -1, "0.00")
			w.rules(`{"fallback":"blank","win":"1/2"}`)
		}
		w.check()
	}
	return w
}

// TestOpenings: the draws of each opening follow from its round, for both verifiers.
func TestOpenings(t *testing.T) {
	w := blind(t)
	files := w.publishAll()
	r := verified(t, files, VerifyOptions{})
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	require.EqualValues(t, 300, r.Replayed)
	require.EqualValues(t, 3, r.Openings)
	require.Zero(t, r.Passed)
	code, last := secondSays(t, files)
	require.Equal(t, 0, code, last)
}

// TestLiveBeacon: rounds are checked also where no seed is revealed.
func TestLiveBeacon(t *testing.T) {
	w := blind(t)
	files := w.files(w.log(), nil)
	delete(files, "reveal")
	require.True(t, verified(t, files, VerifyOptions{Live: true}).OK)
	code, last := secondSays(t, files, "--live")
	require.Equal(t, 0, code, last)
	changed := edited(t, files["log.jsonl"].Data, func(all []*Line) []*Line { return signedAnew(all, drand.New(t, 1_700_000_000, 3)) })
	files = w.files(changed, nil)
	delete(files, "reveal")
	require.Equal(t, RuleBeacon, verified(t, files, VerifyOptions{Live: true}).Rule)
}

// signedAnew has the last opening signed by another chain.
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

// changedAt is the log with one line replaced.
func changedAt(all []*Line, i int, change func(*Line)) []*Line {
	own := *all[i]
	change(&own)
	all[i] = &own
	return all
}

// beaconAttacks are by the operator, who has the seed and signs all anew. passes:
// the files alone do not show it.
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
		{name: "another round, announced too", edit: func(all []*Line, _ int) []*Line { // the deck is another
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
		{name: "a round announced again", edit: func(all []*Line, _ int) []*Line { // by a clock that stands still
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

// TestBeaconAttacks: every way past the beacon that the files show is found, by
// both verifiers at the same entry.
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

// recommit has the commitment bear out what a log now says of before it. Its hash
// in the log is the old one: what is wrong before it is found before that.
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

// TestAnnouncedTooLate: an operator who writes times of his own announces a round
// that was there already. The files alone do not show it; a checkpoint that left
// the house when the round was there does, because it lacks the opening.
func TestAnnouncedTooLate(t *testing.T) {
	w := newWorld(t)
	w.withBeacon()
	w.prize("gold", 600, "19.90")
	w.commit(4, 100)
	kept := w.check() // at this time the round is known, and a deck is chosen by it
	w.openWith(w.announce(0))
	w.draw("d", "u", 1)
	files := w.publishAll()
	require.True(t, verified(t, files, VerifyOptions{}).OK, "nobody claims more")
	require.True(t, verified(t, files, VerifyOptions{Kept: [][]byte{kept}}).OK)
	c, err := ParseCheckpoint(strings.SplitAfter(string(kept), "\n\n")[0][:strings.Index(string(kept), "\n\n")+1])
	require.NoError(t, err)
	require.Less(t, c.Size, int64(4), "the log that was signed then had no opening: a witness's time on it says so")
}

// TestPassedOver: rounds that were announced and not opened with are counted,
// whatever made them stand no more.
func TestPassedOver(t *testing.T) {
	w := newWorld(t)
	w.withBeacon()
	w.prize("gold", 600, "19.90")
	w.commit(4, 100)
	w.announce(0)
	w.restock("gold", 1)
	w.announce(0)
	w.rules(`{"limits":[{"of":"draws","max":60}]}`)
	w.change(draw.WhatName, `{"name":"other"}`)
	round := w.announce(0)
	w.change(draw.WhatName, `{"name":"another"}`) // which changes no deck
	w.openWith(round)
	w.draw("d", "u", 3)
	w.state(draw.StatePaused)
	w.announce(0)
	files := w.publishAll()
	r := verified(t, files, VerifyOptions{})
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	require.EqualValues(t, 1, r.Openings)
	require.EqualValues(t, 3, r.Passed)
	code, last := secondSays(t, files)
	require.Equal(t, 0, code, last)
}

// TestStockWhileOpen: a commitment may allow moves of stock while the pool is
// open, and never rules; what it allows is said.
func TestStockWhileOpen(t *testing.T) {
	w := newWorld(t)
	w.withBeacon()
	w.whileOpen = true
	w.prize("gold", 600, "19.90")
	w.commit(4, 100)
	round := w.announce(0)
	w.restock("gold", 7)
	w.openWith(round)
	w.draw("a", "u", 2)
	w.restock("gold", -5)
	w.draw("b", "u", 2)
	files := w.publishAll()
	r := verified(t, files, VerifyOptions{})
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	require.True(t, r.StockWhileOpen)
	code, last := secondSays(t, files)
	require.Equal(t, 0, code, last)
	ruled := edited(t, files["log.jsonl"].Data, func(all []*Line) []*Line {
		i := lastOf(all, KindOpen)
		return before(all, i+1, Line{At: all[i].At, Kind: KindRules, Document: "null"})
	})
	require.Equal(t, RuleBeacon, verified(t, w.files(ruled, nil), VerifyOptions{}).Rule)
}

// TestBrokenBeacons: a service that leaves the beacon out, or keeps the one of an
// opening before, is found by its first award that falls otherwise.
func TestBrokenBeacons(t *testing.T) {
	for name, double := range map[string]func(w *world, opening int){
		"a key without the beacon":               func(w *world, _ int) { w.numbers.Mix([32]byte{}) },
		"an instance that keeps the old beacon":  func(w *world, opening int) { w.keepOld(opening) },
		"a beacon that is the signature's start": func(w *world, _ int) { w.numbers.Mix([32]byte([]byte(w.chain.Sign(1))[:32])) },
		"none, which must not be found":          func(*world, int) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.withBeacon()
			w.prize("silver", 900, "5.00")
			w.prize("gold", 600, "19.90")
			w.commit(4, 100)
			for opening := range 2 {
				w.openWith(w.announce(0))
				double(w, opening)
				for i := range 50 {
					w.draw(fmt.Sprintf("d%d-%d", opening, i), "u", 1)
				}
				w.state(draw.StatePaused)
			}
			r := verified(t, w.publishAll(), VerifyOptions{})
			require.Equal(t, strings.HasPrefix(name, "none"), r.OK, "%s: %s", r.Rule, r.Detail)
			if !r.OK {
				require.Equal(t, RuleAward, r.Rule)
			}
		})
	}
}

// keepOld has the second opening's draws take the first one's numbers.
func (w *world) keepOld(opening int) {
	if opening == 0 {
		w.old = w.numbers.beacon
		return
	}
	w.numbers.Mix(w.old)
}
