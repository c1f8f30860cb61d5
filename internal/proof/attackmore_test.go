package proof

import (
	"math/rand/v2"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/fold"
)

// moreAttacks returns attacks that change the outcome, but not who drew.
func moreAttacks(w *world) []attack {
	return []attack{
		{name: "an award reordered", edit: func(all []*Line, n int) []*Line {
			at := awardsOf(all)
			from, to := at[n], at[n+1+rand.IntN(100)]  //nolint:gosec // any will do
			for all[from].PrizeID == all[to].PrizeID { // otherwise the attack would only move owners
				to++
				for all[to].Kind != KindAward {
					to++
				}
			}
			moved := *all[from]
			moved.At = all[to].At
			others := append(append(all[:from:from], all[from+1:to+1]...), &moved)
			return renumbered(append(others, all[to+1:]...))
		}},
		{name: "an award re-rolled", edit: func(all []*Line, n int) []*Line {
			numbers, _ := NewNumbers(w.commitment, w.commitment.Size+1, w.seed, w.commitment.Epochs)
			at := awardsOf(all)[n]
			own := *all[at]
			for try := int64(1); own.PrizeID == all[at].PrizeID; try++ { // as if the award had been drawn again until it gave another prize
				own.PrizeID = prizeOf(numbers, all[:at], (int64(at)+try)%numbers.Last()+1)
			}
			all[at] = &own
			return renumbered(all)
		}},
		{name: "a version let pass by an erasure, and all behind recomputed", edit: func(all []*Line, n int) []*Line {
			at := awardsOf(all)[n]
			erased := &Line{At: all[at].At, Kind: KindErased}
			return recomputed(w, append(all[:at:at], append([]*Line{erased}, all[at:]...)...))
		}},
	}
}

// prizeOf returns the prize that a version would give if the log had the given lines
// before it.
func prizeOf(numbers *Numbers, before []*Line, version int64) string {
	v := &verifier{folding: folding{recompute: fold.NewRecomputation("spring", numbers, nil)}}
	v.recompute.SetState(draw.StateOpen)
	for _, l := range before {
		switch l.Kind {
		case KindStock:
			_ = v.stock(l)
		case KindAward:
			_ = v.recompute.Take(&draw.Award{Version: l.Version, PrizeID: l.PrizeID, Unit: l.Unit})
		default:
		}
	}
	a, _ := v.recompute.Next(max(version, numbers.version+1), draw.Request{Count: 1}, 1, before[len(before)-1].At)
	return a.PrizeID
}
