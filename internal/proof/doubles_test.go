package proof

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// broken is a source of numbers that a careless service might use.
type broken struct {
	numbers *Numbers
	// shift is added to the version. first is the first value of the counter.
	shift  int64
	first  uint32
	modulo bool
	random bool
}

func (b *broken) Of(version int64) urn.Numbers {
	n := b.numbers
	epoch := n.commitment.Epoch(n.version, version)
	words := &brokenWords{modulo: b.modulo, counter: b.first, key: Key(n.seeds[epoch+1], n.hash, epoch, [32]byte{}), version: version + b.shift}
	if b.random {
		_, _ = rand.Read(words.key[:])
	}
	return words
}

type brokenWords struct {
	modulo  bool
	counter uint32
	key     [32]byte
	version int64
	left    []byte
}

func (w *brokenWords) Below(limit int64) int64 {
	for {
		if len(w.left) == 0 {
			block := append(binary.BigEndian.AppendUint32(nil, w.counter), w.key[:]...)
			sum := sha256.Sum256(binary.BigEndian.AppendUint64(block, uint64(w.version)))
			w.left, w.counter = sum[:], w.counter+1
		}
		word := binary.BigEndian.Uint64(w.left)
		w.left = w.left[8:]
		if w.modulo {
			return int64(word % uint64(limit))
		}
		if word &= 1<<bits.Len64(uint64(limit-1)) - 1; word < uint64(limit) {
			return int64(word)
		}
	}
}

// TestBrokenDoubles: if the numbers of a service differ from the specification, the first
// award that differs reveals it.
func TestBrokenDoubles(t *testing.T) {
	for name, double := range map[string]broken{
		"a modulo for the mask":         {first: 1, modulo: true},
		"the version off by one":        {first: 1, shift: 1},
		"a counter from 0":              {},
		"an instance on crypto/rand":    {first: 1, random: true},
		"none, which must not be found": {first: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.prize("silver", 900, "5.00")
			w.prize("gold", 600, "19.90")
			w.source = func(n *Numbers) urn.Source { double.numbers = n; return &double }
			w.commit(4, 100)
			w.state(draw.StateOpen)
			for i := range 100 {
				w.draw(fmt.Sprintf("d%d", i), "u", 1)
			}
			r := verified(t, w.publishAll(), VerifyOptions{})
			require.Equal(t, double.first == 1 && !double.modulo && double.shift == 0 && !double.random, r.OK, "%s: %s", r.Rule, r.Detail)
			if !r.OK {
				require.Equal(t, RuleAward, r.Rule)
			}
		})
	}
}

// TestAwardsShowOtherOrderAndUnloggedStock: the awards reveal a service whose prizes are
// in another order than in the log. They also reveal a service that does not log a move
// of stock.
func TestAwardsShowOtherOrderAndUnloggedStock(t *testing.T) {
	for name, double := range map[string]func(w *world){
		"prizes in order of id": func(w *world) { // silver was added before gold
			slices.SortFunc(w.pool.Prizes, func(a, b draw.Prize) int { return strings.Compare(a.ID, b.ID) })
		},
		"a stock move that is no entry": func(w *world) { w.pool.Prizes[1].Stocked += 300 },
		"none, which must not be found": func(*world) {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.prize("silver", 900, "5.00")
			w.prize("gold", 600, "19.90")
			w.commit(4, 100)
			w.state(draw.StateOpen)
			double(w)
			for i := range 100 {
				w.draw(fmt.Sprintf("d%d", i), "u", 1)
			}
			r := verified(t, w.publishAll(), VerifyOptions{})
			require.Equal(t, strings.HasPrefix(name, "none"), r.OK, "%s: %s", r.Rule, r.Detail)
			if !r.OK {
				require.Equal(t, RuleAward, r.Rule)
			}
		})
	}
}

// TestFreePrizesUnderASpentBudget: when new rules come into force, more than their budget
// has already been spent. Both verifiers then accept awards of a prize without value, and
// find a service that withheld such a prize.
func TestFreePrizesUnderASpentBudget(t *testing.T) {
	for name, withholds := range map[string]bool{"given": false, "withheld": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.prize("gold", 100, "5.00")
			w.prize("badge", 900, "0.00")
			w.prize("none", -1, "0.00")
			w.rules(`{"fallback":"none","budget":{"max":"5.00"}}`)
			w.commit(4, 1000)
			w.state(draw.StateOpen)
			for spent := int64(0); spent == 0; spent = w.pool.Spending.Cents {
				w.draw(fmt.Sprintf("before-%d", len(w.entries)), "u", 1)
			}
			w.rules(`{"fallback":"none","budget":{"max":"0.00"}}`)
			given := 0
			for i := range 20 {
				for _, a := range w.draw(fmt.Sprintf("behind-%d", i), "u", 1) {
					if a.PrizeID == "badge" {
						given++
					}
				}
			}
			require.Positive(t, given)
			budgets := 0
			w.publish = func(l *Line) {
				if l.Kind == KindRules {
					budgets++
				}
				if withholds && budgets == 2 && l.Kind == KindAward && l.PrizeID == "badge" {
					l.PrizeID, l.Redirect = "none", &draw.Redirect{Drawn: "badge", Why: draw.WhyBudget}
				}
			}
			files := w.publishAll()
			r := verified(t, files, VerifyOptions{})
			code, last := secondSays(t, files)
			if withholds {
				require.Equal(t, RuleAward, r.Rule)
				require.Contains(t, last, ": award: ")
				return
			}
			require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
			require.Zero(t, code, last)
		})
	}
}

// TestModuloOfMany: with 10^17 units, a modulo prefers some units by half a percent. A
// chi-square test detects that only after many draws, the vectors detect it at once.
func TestModuloOfMany(t *testing.T) {
	const units = 100_000_000_000_000_000
	found := 0
	for _, v := range readVectors(t).Numbers {
		var right urn.Keyed
		right.SetKey(bytesOf(t, v.Key))
		numbers, modulo := right.Of(v.Version), &brokenWords{modulo: true, counter: 1, key: bytesOf(t, v.Key), version: v.Version}
		for i, limit := range v.Below {
			a, b := numbers.Below(whole(t, limit)), modulo.Below(whole(t, limit))
			require.Equal(t, whole(t, v.Numbers[i]), a)
			if whole(t, limit) == units && a != b {
				found++
			}
		}
	}
	require.Greater(t, found, 30)
}

// TestUndonePlanGivesTheSameNumbers: if a plan is undone and made again for other draws,
// each version gives the same result as before. In the broken double, an undone plan uses
// up numbers.
func TestUndonePlanGivesTheSameNumbers(t *testing.T) {
	w := simple(t)
	numbers, ok := NewNumbers(w.commitment, w.commitment.Size+1, w.seed, w.commitment.Epochs)
	require.True(t, ok)
	u := urn.NewUrnFrom("spring", numbers)
	w.pool.State = draw.StateOpen
	require.True(t, u.Seen(w.pool))
	ask := func(id string, count int) *urn.Ask {
		return &urn.Ask{Request: draw.Request{PoolID: "spring", UserID: "u", DrawID: id, Named: true, Count: count}}
	}
	first := u.Plan([]*urn.Ask{ask("a", 2), ask("b", 1)}, w.at)
	first.Undo()
	again := u.Plan([]*urn.Ask{ask("b", 1), ask("c", 1), ask("a", 1)}, w.at)
	require.Len(t, again.Awards, 3)
	for i := range again.Awards {
		require.Equal(t, first.Awards[i].PrizeID, again.Awards[i].PrizeID)
		require.Equal(t, first.Awards[i].Unit, again.Awards[i].Unit)
	}
}

// TestOnlyLiveVerificationAcceptsAnOpenPool: until the pool is closed and all seeds are
// revealed, only a live verification accepts the files.
func TestOnlyLiveVerificationAcceptsAnOpenPool(t *testing.T) {
	w := simple(t)
	files := w.files(w.log(), w.checks)
	require.Equal(t, RuleLife, verified(t, files, VerifyOptions{}).Rule)
	require.True(t, verified(t, files, VerifyOptions{Live: true}).OK)
	files["reveal"].Data = []byte(Reveal(w.seed.Before(2), 2))
	require.Equal(t, RuleReveal, verified(t, files, VerifyOptions{}).Rule)
	r := verified(t, files, VerifyOptions{Live: true})
	require.True(t, r.OK, r.Detail)
	require.Less(t, r.Recomputed, int64(300))
	delete(files, "checkpoints")
	require.True(t, verified(t, files, VerifyOptions{Live: true}).OK, "the last checkpoint is enough")
	code, last := secondSays(t, files, "--live")
	require.Equal(t, 0, code, last)
}
