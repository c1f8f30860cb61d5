package draw

import "github.com/shopspring/decimal"

// Urn is a pool in memory: its prizes, their counts, and the version at which
// all of it was read. It may refuse a draw, never grant one: what it gives out
// is a plan that the guarded write accepts only while the pool row still says
// Version. An Urn belongs to one goroutine at a time.
type Urn struct {
	PoolID string
	State  State
	// Mode is the pool's own lock mode, "" for the service's.
	Mode string
	// Version is the pool version that the counts stand for; 0 says that
	// nothing has been read yet.
	Version int64
	// History is the database's own name for the line of events that was read,
	// where it has one: after a failover the same version may be another state.
	History string
	// Confirmed counts the reads in a row that found the pool at Version:
	// nobody else had written to it.
	Confirmed int

	prizes    []urnPrize
	places    map[string]int
	remaining int64
	units     fenwick
	random    *random
}

type urnPrize struct {
	id, name        string
	value           decimal.Decimal
	stocked, issued int64
}

// NewUrn returns an urn that holds nothing yet.
func NewUrn(poolID string) *Urn {
	u := &Urn{PoolID: poolID, random: newRandom()}
	u.Reset()
	return u
}

// Reset forgets everything that was read, so that the next read is whole.
func (u *Urn) Reset() {
	u.State, u.Mode, u.Version, u.History, u.Confirmed = "", "", 0, "", 0
	u.prizes, u.places, u.remaining, u.units = nil, map[string]int{}, 0, newFenwick(nil)
}

// Remaining is the number of units in the urn.
func (u *Urn) Remaining() int64 { return u.remaining }

// Prizes is the number of prizes in the urn, empty ones included.
func (u *Urn) Prizes() int { return len(u.prizes) }

// Put sets one prize's counts to what was read; a new prize is added behind
// the others.
func (u *Urn) Put(p Prize) {
	place, known := u.places[p.ID]
	if !known {
		u.places[p.ID] = len(u.prizes)
		u.prizes = append(u.prizes, urnPrize{p.ID, p.Name, p.Value, p.Stocked, p.Issued})
		u.units.push(p.Remaining())
		u.remaining += p.Remaining()
		return
	}
	prize := &u.prizes[place]
	change := p.Remaining() - (prize.stocked - prize.issued)
	prize.stocked, prize.issued = p.Stocked, p.Issued
	u.units.add(place, change)
	u.remaining += change
}

// take removes one unit, uniformly at random among all that remain, and
// returns the place of its prize. The urn must not be empty.
func (u *Urn) take() int {
	place := u.units.find(u.random.below(u.remaining))
	u.move(place, 1)
	return place
}

// putBack returns a unit that was taken but not issued.
func (u *Urn) putBack(place int) { u.move(place, -1) }

func (u *Urn) move(place int, issued int64) {
	u.prizes[place].issued += issued
	u.units.add(place, -issued)
	u.remaining -= issued
}

// covers says whether the urn is known to hold count units.
func (u *Urn) covers(count int) bool { return u.remaining >= int64(count) }
