package proof

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest/drand"
)

// withBeacon gives the world its own beacon chain, before the pool is committed.
func (w *world) withBeacon() {
	w.chain = drand.New(w.t, 1_700_000_000, 3)
	var err error
	w.beacon, err = ParseBeacon(w.chain.Beacon())
	require.NoError(w.t, err)
}

// announce announces a round. later is the number of rounds by which it comes after the
// first possible one.
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

// blind returns a pool with a beacon. It has three openings with 100 draws each. Between
// them, stock and rules change.
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

// TestDrawsFollowFromTheirOpening: for both verifiers, the draws of each opening follow
// from its round.
func TestDrawsFollowFromTheirOpening(t *testing.T) {
	w := blind(t)
	files := w.publishAll()
	r := verified(t, files, VerifyOptions{})
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	require.EqualValues(t, 300, r.Recomputed)
	require.EqualValues(t, 3, r.Openings)
	require.Zero(t, r.Passed)
	code, last := secondSays(t, files)
	require.Equal(t, 0, code, last)
}

// TestLiveBeacon: rounds are checked even if no seed is revealed.
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

// TestKeptCheckpointConvictsALateAnnouncement: an operator writes false times, and
// announces a round that has already come. The files do not reveal it by themselves. A
// checkpoint that was published when the round came reveals it, because the announcement
// is not in its log.
func TestKeptCheckpointConvictsALateAnnouncement(t *testing.T) {
	w := newWorld(t)
	w.withBeacon()
	w.prize("gold", 600, "19.90")
	w.commit(4, 100)
	kept := w.check() // the round is known from now on, and the operator can choose the draws
	w.openWith(w.announce(0))
	w.draw("d", "u", 1)
	files := w.publishAll()
	require.True(t, verified(t, files, VerifyOptions{}).OK, "nobody claims more")
	require.True(t, verified(t, files, VerifyOptions{Kept: [][]byte{kept}}).OK)
	c, err := ParseCheckpoint(strings.SplitAfter(string(kept), "\n\n")[0][:strings.Index(string(kept), "\n\n")+1])
	require.NoError(t, err)
	require.Less(t, c.Size, int64(4), "the log that was signed then had no opening: a witness's time on it says so")
}

// TestReportCountsRoundsNotOpenedWith: the report counts rounds that were announced, but
// with which the pool was not opened, whatever withdrew them.
func TestReportCountsRoundsNotOpenedWith(t *testing.T) {
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
	w.change(draw.WhatName, `{"name":"another"}`) // a name changes no draw
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
	require.Contains(t, last, ": 3 awards replayed from version 4 on, 1 opening, 3 announced rounds passed over")
}

// TestStockWhileOpen: a commitment may allow moves of stock while the pool is open, but
// never changes of rules. The report states whether it allows moves.
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
	code, all := secondPrints(t, folderOf(t, files))
	require.Equal(t, 0, code, all)
	require.Contains(t, all, "weaker: the commitment lets stock move while the pool is open")
	ruled := edited(t, files["log.jsonl"].Data, func(all []*Line) []*Line {
		i := lastOf(all, KindOpen)
		return before(all, i+1, Line{At: all[i].At, Kind: KindRules, Document: "null"})
	})
	require.Equal(t, RuleBeacon, verified(t, w.files(ruled, nil), VerifyOptions{}).Rule)
}

// TestBrokenBeacons: if a service does not use the beacon, or uses the round of an
// earlier opening, the first award that differs reveals it.
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

// keepOld makes the second opening's draws use the first one's numbers.
func (w *world) keepOld(opening int) {
	if opening == 0 {
		w.old = w.numbers.beacon
		return
	}
	w.numbers.Mix(w.old)
}

// TestEveryByteOfABeaconCounts: both verifiers find a flipped bit in the commitment or
// the log of a pool with a beacon.
func TestEveryByteOfABeaconCounts(t *testing.T) {
	w := newWorld(t)
	w.withBeacon()
	w.whileOpen = true
	w.prize("silver", 9, "5.00")
	w.commit(1, 50)
	w.openWith(w.announce(0))
	w.draw("a", "u", 1)
	files := w.publishAll()
	require.True(t, verified(t, files, VerifyOptions{}).OK)
	for _, name := range []string{"commitment", "log.jsonl"} {
		for i := range files[name].Data {
			flipped := clone(files)
			flipped[name].Data[i] ^= 1 << (i % 8)
			require.False(t, verified(t, flipped, VerifyOptions{}).OK, "%s, byte %d", name, i)
			if i%101 == 5 { // each run of the second verifier starts a process
				code, last := secondSays(t, flipped)
				require.Equal(t, 3, code, "%s, byte %d: %s", name, i, last)
			}
		}
	}
}
