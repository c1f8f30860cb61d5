package history

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Prize is a prize of a pool as it was created.
type Prize struct {
	ID    string
	Stock int64
}

// urn is the model: the state of one pool after some order of events. A step returns a
// new urn and leaves the old one unchanged.
type urn struct {
	version int64
	prizes  []PrizeRow
	draws   map[string][]Award
	moves   map[string]Op
	// changes are the versions that an operator's changes took.
	changes map[int64]bool
}

// Linear reports whether some order of events explains all answers that one pool gave;
// each event happens between its request and its answer. It returns Ok, Illegal, or
// Unknown if the time did not suffice, so that orders that are hard to find are not
// reported as broken. version is the pool's version when it was created. changes are
// the versions of the rows of changes, which name no draw and no move.
func Linear(ops []Op, pool string, made []Prize, version int64, changes []int64, most time.Duration) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(model(made, version, changes), events(ops, pool), most)
}

func model(made []Prize, version int64, changes []int64) porcupine.Model {
	changed := map[int64]bool{}
	for _, v := range changes {
		changed[v] = true
	}
	return porcupine.Model{
		Init: func() any {
			u := &urn{version: version, draws: map[string][]Award{}, moves: map[string]Op{}, changes: changed}
			for _, p := range made {
				u.prizes = append(u.prizes, PrizeRow{ID: p.ID, Stocked: p.Stock})
			}
			return u
		},
		Step: func(state, input, _ any) (bool, any) {
			next := state.(*urn).step(input.(Op))
			return next != nil, next
		},
		Equal: func(a, b any) bool { return a.(*urn).equal(b.(*urn)) },
		Hash:  func(state any) uint64 { return uint64(state.(*urn).version) }, //nolint:gosec // a hash
	}
}

// events returns the operations of one pool that carry information. An operation with
// an unknown outcome may happen at any time after its request; a later replay under its
// key proves that it happened.
func events(ops []Op, pool string) []porcupine.Operation {
	var all []porcupine.Operation
	fresh, doubts, replays := map[string]bool{}, map[string]Op{}, map[string]Op{}
	var names []string
	for _, o := range ops {
		if o.Pool != pool || o.Busy() || o.Code == "idempotency-key-reused" {
			continue
		}
		name := o.name()
		if o.Unknown() {
			first, known := doubts[name]
			if !known {
				first = o
				names = append(names, name)
			}
			first.Call = min(first.Call, o.Call)
			doubts[name] = first
			continue
		}
		if o.Won() && o.Replayed {
			replays[name] = o
		}
		fresh[name] = fresh[name] || o.Won() && !o.Replayed
		all = append(all, porcupine.Operation{ClientId: o.Client, Input: o, Call: int64(o.Call), Return: int64(o.Return)})
	}
	for _, name := range names {
		o, replay := doubts[name], replays[name]
		if fresh[name] || !replay.Won() {
			continue
		}
		o.Status, o.Awards, o.Version, o.Stocked, o.Issued = 200, replay.Awards, replay.Version, replay.Stocked, replay.Issued
		all = append(all, porcupine.Operation{ClientId: o.Client, Input: o, Call: int64(o.Call), Return: math.MaxInt64})
	}
	return all
}

// step returns the urn after an operation with this answer, or nil if the answer is
// impossible.
func (u *urn) step(o Op) *urn {
	known, drawn := u.draws[o.Key]
	move, moved := u.moves[o.Key]
	switch {
	case o.Kind == Draw && o.Won() && o.Replayed:
		return u.when(drawn && sameAwards(known, o.Awards))
	case o.Kind == Draw && o.Won():
		return u.draw(o, drawn)
	case o.Code == "sold-out":
		return u.when(!drawn && u.remaining() < int64(o.Count))
	case o.Kind == Stock && o.Won() && o.Replayed:
		return u.when(moved && move.Version == o.Version && move.Stocked == o.Stocked && move.Issued == o.Issued)
	case o.Kind == Stock && o.Won():
		return u.move(o, moved)
	case o.Code == "stock-below-issued":
		p := u.prize(o.Prize)
		return u.when(!moved && p.Stocked+o.Delta < p.Issued)
	}
	return nil
}

func (u *urn) when(legal bool) *urn {
	if legal {
		return u
	}
	return nil
}

func (u *urn) draw(o Op, drawn bool) *urn {
	if drawn || len(o.Awards) != o.Count {
		return nil
	}
	next := &urn{version: u.next() - 1, prizes: slices.Clone(u.prizes), moves: u.moves, changes: u.changes}
	for _, a := range o.Awards {
		next.version++
		p := next.prize(a.Prize)
		p.Issued++
		if a.Version != next.version || a.Unit != p.Issued || p.Issued > p.Stocked {
			return nil
		}
	}
	next.draws = maps.Clone(u.draws)
	next.draws[o.Key] = o.Awards
	return next
}

func (u *urn) move(o Op, moved bool) *urn {
	next := &urn{version: u.next(), prizes: slices.Clone(u.prizes), draws: u.draws, changes: u.changes}
	p := next.prize(o.Prize)
	p.Stocked += o.Delta
	if moved || o.Version != next.version || p.Stocked < p.Issued || p.Stocked != o.Stocked || p.Issued != o.Issued {
		return nil
	}
	next.moves = maps.Clone(u.moves)
	next.moves[o.Key] = o
	return next
}

// next returns the version of the next draw or move: changes may come before it.
func (u *urn) next() int64 {
	version := u.version + 1
	for u.changes[version] {
		version++
	}
	return version
}

// prize finds a prize; a prize that the pool does not have is empty.
func (u *urn) prize(id string) *PrizeRow {
	for i := range u.prizes {
		if u.prizes[i].ID == id {
			return &u.prizes[i]
		}
	}
	return &PrizeRow{ID: id}
}

func (u *urn) remaining() int64 {
	var n int64
	for _, p := range u.prizes {
		n += p.Stocked - p.Issued
	}
	return n
}

func (u *urn) equal(v *urn) bool {
	return u.version == v.version && slices.Equal(u.prizes, v.prizes) &&
		maps.EqualFunc(u.draws, v.draws, sameAwards) &&
		maps.EqualFunc(u.moves, v.moves, func(a, b Op) bool { return a.Version == b.Version })
}
