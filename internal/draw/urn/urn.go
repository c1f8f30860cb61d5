package urn

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
)

// Urn is the cached copy of a pool: its prizes, their counts, and the head at which all
// of it was read. It can refuse a draw, but cannot grant one: it only makes a plan. The
// guarded write accepts the plan only while the pool is at the same head. The urn has one
// owner at a time and two ways to change: [Urn.Seen] updates it to the state that was
// read, [Urn.Invalidate] drops it.
type Urn struct {
	PoolID string
	State  draw.State
	// Mode is the pool's own lock mode, "" for the service's.
	Mode string
	// Head is the state of the counts; version 0 means that nothing is cached.
	draw.Head
	// At is the time of the pool's last entry.
	At time.Time
	// DueAt is the time of the earliest open item of the pool's agenda, the zero
	// time for none.
	DueAt time.Time
	// ClockLeapt is the reason why decisions that depend on time cannot be made now, nil
	// if they can. While it is set, plans of a pool with rules or an agenda refuse every
	// new draw with it.
	ClockLeapt error
	// CodesAway is the reason why codes cannot be handed out now, nil if they can. While
	// it is set, plans of a pool with codes refuse every new draw with it.
	CodesAway error

	// due means that the item of DueAt was due when the pool was read.
	due bool
	// pause is the message of a paused pool to those who draw.
	pause  draw.Pause
	prizes []urnPrize
	places map[string]int
	// coded is the number of prizes with codes.
	coded int
	// stocked and remaining are the sums over all prizes.
	stocked, remaining int64
	units              fenwick
	// deck belongs to the history of last. Invalidate changes neither. So if the copy is
	// dropped and read again, the same versions take the same units.
	deck *deck
	last draw.Head
	// source, unless it is nil, gives the numbers in place of the deck. In a committed
	// pool it is the Seeds of secrets.
	source Source
	// committed is the version of the pool's commitment. opened is the version of the
	// change that opened the pool with a round of its beacon. Both are 0 for none. secrets
	// belong to both, and are empty until the urn gets secrets; asked means that
	// SetSecrets was called.
	committed, opened int64
	// claimsFrom is the version of the first rules with claims, 0 for none.
	claimsFrom int64

	secrets Secrets
	asked   bool

	stream stream
	// terms are the rules in force, nil for none; spending is the amount that was spent
	// under them.
	terms    *terms
	spending Spending
	// moments are the pending moments.
	moments moments
	memory  memory
	// hits counts the reads in a row that found the pool unchanged.
	hits int
}

type urnPrize struct {
	id, name        string
	value           decimal.Decimal
	stocked, issued int64
	// cents is the value. An endless blank has no weight in the urn.
	cents          int64
	blank, endless bool
	hasCodes       bool
}

// weight returns the number of units that the prize has in the urn.
func (p *urnPrize) weight() int64 {
	if p.endless {
		return 0
	}
	return p.stocked - p.issued
}

// stock returns the number of units of the prize that were ever in the urn.
func (p *urnPrize) stock() int64 {
	if p.endless {
		return 0
	}
	return p.stocked
}

// Snapshot is the state of a pool as a store read it.
type Snapshot struct {
	State draw.State
	Mode  string
	Head  draw.Head
	At    time.Time
	// DueAt is the time of the earliest open item of the agenda, the zero time for
	// none. Due means that it has come, by the database's clock.
	DueAt time.Time
	Due   bool
	// Committed is the version of the change that committed the pool to its numbers, 0
	// for a pool with secret numbers.
	Committed int64
	// Opened is the version of the change that opened the pool with the round of its
	// beacon that is in force, 0 for none.
	Opened int64
	// ClaimsFrom is the version of the first rules that had claims, 0 for none.
	ClaimsFrom int64
	// Pause is the message of a paused pool to callers that draw.
	Pause draw.Pause
	// Prizes are those that changed since the version of the urn; all of them for an
	// urn at version 0.
	Prizes []draw.Prize
	// Moments are the pending moments, in the order of (Done, Item), if HasReadMoments is
	// set. Otherwise the moments of the urn have not changed.
	Moments        []Moment
	HasReadMoments bool
	// Rules are the rules in force, nil for none.
	Rules *draw.Rules
	// Spending is the spent amount of their budget.
	Spending Spending
}

// NewUrn returns an empty urn.
func NewUrn(poolID string) *Urn {
	u := &Urn{PoolID: poolID, deck: newDeck()}
	u.Invalidate()
	return u
}

// NewUrnFrom returns an empty urn that takes its numbers from source, whatever its
// history.
func NewUrnFrom(poolID string, source Source) *Urn {
	u := NewUrn(poolID)
	u.source = source
	return u
}

// Invalidate drops the cached copy, so that the next read is complete.
func (u *Urn) Invalidate() {
	u.State, u.Mode, u.Head, u.At, u.hits = "", "", draw.Head{}, time.Time{}, 0
	u.DueAt, u.due, u.pause = time.Time{}, false, draw.Pause{}
	u.prizes, u.places, u.stocked, u.remaining, u.units = nil, map[string]int{}, 0, 0, newFenwick(nil)
	u.terms, u.spending, u.coded, u.moments, u.memory = nil, Spending{}, 0, nil, memory{}
}

// HasCodes reports whether some prize of the pool has codes.
func (u *Urn) HasCodes() bool { return u.coded > 0 }

// Seen updates the urn to the state that was read. It returns false, and invalidates
// the urn, if the pool does not follow from the cached copy: another history replaced
// it, or more was written than the trail shows. Then the pool must be read again
// completely.
func (u *Urn) Seen(s Snapshot) bool {
	if u.Version > 0 && !s.Head.Follows(u.Head) {
		u.Invalidate()
		return false
	}
	if u.WasRead() && !s.Head.Follows(u.last) {
		u.deck = newDeck()
		u.commitTo(0, 0) // another history may be committed to other seeds, or to none
	}
	u.commitTo(s.Committed, s.Opened)
	if n := len(s.Prizes); len(u.prizes) == 0 { // the read is complete, and its size known
		u.prizes, u.places, u.units.sums = make([]urnPrize, 0, n), make(map[string]int, n), slices.Grow(u.units.sums, n)
	}
	for _, p := range s.Prizes {
		u.put(p)
	}
	if s.HasReadMoments {
		u.setMoments(s.Moments)
	}
	if u.Version > 0 && s.Head.Is(u.Head) {
		u.hits++
	} else {
		u.hits = 0
	}
	u.State, u.Mode, u.At, u.spending = s.State, s.Mode, s.At, s.Spending
	u.DueAt, u.due, u.pause, u.claimsFrom = s.DueAt, s.Due, s.Pause, s.ClaimsFrom
	//double:keeps-turns-of-rules u.setTerms(s.Rules) => if s.Rules != u.rules() { u.memory.head = s.Head }; u.setTerms(s.Rules)
	u.setTerms(s.Rules)
	u.moveTo(s.Head)
	return true
}

// Pause returns the message of a paused pool to callers that draw, the zero value for any
// other pool.
func (u *Urn) Pause() draw.Pause { return u.pause }

// moveTo sets the head of the counts to another head of the same history.
func (u *Urn) moveTo(h draw.Head) { u.Head, u.last = h, h }

// hitsMin is how many reads in a row must find a pool unchanged before draws are planned
// from the cached copy.
const hitsMin = 2

// IsCached reports whether no other instance seems to write to the pool, so that a draw
// may be planned from the cached copy without reading the pool first. The write detects
// whether the copy was still right.
func (u *Urn) IsCached() bool {
	return u.Version > 0 && u.hits >= hitsMin && (u.committed == 0 || u.secrets.Seeds != nil)
}

// WasRead reports whether the pool was ever read, even if the copy was dropped.
func (u *Urn) WasRead() bool { return u.last != draw.Head{} }

// Remaining returns the number of units in the urn. Endless blanks are in no urn.
func (u *Urn) Remaining() int64 { return u.remaining }

// Prizes returns the number of prizes in the urn, including empty ones.
func (u *Urn) Prizes() int { return len(u.prizes) }

// EachPrize yields the prizes in the order in which they were added.
func (u *Urn) EachPrize() iter.Seq[draw.Prize] {
	return func(yield func(draw.Prize) bool) {
		for i := range u.prizes {
			if !yield(u.prizes[i].prize()) {
				return
			}
		}
	}
}

// put sets one prize to the values that were read; a new prize is added after the
// others.
func (u *Urn) put(p draw.Prize) {
	put := urnPrize{
		id: p.ID, name: p.Name, value: p.Value, stocked: p.Stocked, issued: p.Issued,
		cents: draw.Cents(p.Value), blank: !p.IsWin(), endless: p.IsEndless(), hasCodes: p.HasCodes,
	}
	place, known := u.places[p.ID]
	if !known {
		place = len(u.prizes)
		u.places[p.ID] = place
		u.prizes = append(u.prizes, urnPrize{})
		u.units.push(0)
		if p.HasCodes {
			u.coded++
		}
	}
	// Consecutive prizes often have the same value: they share it.
	if before := max(0, place-1); u.prizes[before].value.Exponent() == put.value.Exponent() && u.prizes[before].value.Equal(put.value) {
		put.value = u.prizes[before].value
	}
	former := &u.prizes[place]
	change := put.weight() - former.weight()
	u.stocked += put.stock() - former.stock()
	*former = put
	u.units.add(place, change)
	u.remaining += change
}

// numbers returns the numbers of a version, valid until the next call.
func (u *Urn) numbers(version int64) Numbers {
	if u.source != nil {
		return u.source.Of(version)
	}
	//double:picks-again u.deck.begin => newDeck().begin
	u.deck.begin(&u.stream, version)
	return &u.stream
}

// putBack returns a unit that was taken but not issued.
func (u *Urn) putBack(place int) { u.move(place, -1) }

func (u *Urn) move(place int, issued int64) {
	prize := &u.prizes[place]
	prize.issued += issued
	if prize.endless {
		return
	}
	u.units.add(place, -issued)
	u.remaining -= issued
}

// covers reports whether the urn has count units.
func (u *Urn) covers(count int) bool { return u.remaining >= int64(count) }

// prizeOf returns a prize in its present state, nil for one that the urn does not have.
func (u *Urn) prizeOf(id string) *draw.Prize {
	place := u.placeOf(id)
	if place == none {
		return nil
	}
	p := u.prizes[place].prize()
	return &p
}

func (p *urnPrize) prize() draw.Prize {
	kind := draw.KindPrize
	if p.blank {
		kind = draw.KindBlank
	}
	return draw.Prize{ID: p.id, Name: p.name, Kind: kind, Value: p.value, Stocked: p.stocked, Issued: p.issued}
}

// placeOf returns the place of a prize, none for one that the urn does not have.
func (u *Urn) placeOf(id string) int {
	if place, known := u.places[id]; known {
		return place
	}
	return none
}

// fenwick stores counts and finds the count that contains a running number, both in
// O(log n), so that a pool of 100,000 prizes draws as fast as one of ten. After P. M.
// Fenwick, "A New Data Structure for Cumulative Frequency Tables", Software: Practice
// and Experience 24(3), 1994.
type fenwick struct {
	// sums[i] is the sum of the i&-i counts that end at place i, from 1; sums[0] is not
	// used.
	sums []int64
}

func newFenwick(counts []int64) fenwick {
	f := fenwick{sums: make([]int64, len(counts)+1, len(counts)+len(counts)/8+2)}
	copy(f.sums[1:], counts)
	for i := 1; i < len(f.sums); i++ {
		if parent := i + i&-i; parent < len(f.sums) {
			f.sums[parent] += f.sums[i]
		}
	}
	return f
}

// add changes the count at index i, from 0, by delta.
func (f *fenwick) add(i int, delta int64) {
	for i++; i < len(f.sums); i += i & -i {
		f.sums[i] += delta
	}
}

// push adds a count after the last.
func (f *fenwick) push(count int64) {
	i := len(f.sums)
	if i == 0 {
		f.sums = append(f.sums, 0)
		i = 1
	}
	for step := 1; step < i&-i; step *= 2 {
		count += f.sums[i-step]
	}
	f.sums = append(f.sums, count)
}

// find returns the index of the count that contains unit: the smallest i whose counts
// up to and including i sum to more than unit. unit must be from 0 to the total minus
// one.
func (f *fenwick) find(unit int64) int {
	at, step := 0, 1
	for step*2 < len(f.sums) {
		step *= 2
	}
	for ; step > 0; step /= 2 {
		if next := at + step; next < len(f.sums) && f.sums[next] <= unit {
			at = next
			unit -= f.sums[next]
		}
	}
	return at
}

// none is the place that means no prize: nothing was drawn.
const none = -1

// Spending is the spent amount of a budget. It is written with the plan that makes it.
type Spending = draw.Spending

// rules returns the rules in force, nil for none.
func (u *Urn) rules() *draw.Rules {
	if u.terms == nil {
		return nil
	}
	return u.terms.Rules
}

// Rules returns the rules in force, nil for none, or if nothing is cached.
func (u *Urn) Rules() *draw.Rules { return u.rules() }

// Numbers is the randomness of one version of a pool. The order in which it is used is
// a contract. Without rules: one number, for the unit. Under the stock law: one for the
// win if the rules have a chance below 1, then one for the unit. Under the fixed law:
// one number. Nothing else uses a number.
type Numbers interface {
	// Below returns a number from 0 to limit-1, each equally likely. limit is at
	// least 1.
	Below(limit int64) int64
}

// deck gives every version of a pool its random numbers: the numbers of a version are a
// function of the key and the version, and do not depend on the batch or the attempt.
// After a failed write, the draws are planned again with the same numbers. So a failure
// that depends on the drawn units cannot bias the odds (law 3).
//
// The key is secret, and each history that is read gets a new key: after a restore the
// versions of the lost history occur again, and their results are known.
type deck struct {
	// block is the input of the hash: a counter, the key and the version.
	block [4 + keySize + 8]byte
}

const keySize = 32

func newDeck() *deck {
	d := &deck{}
	// Read never fails: without randomness it ends the program.
	_, _ = rand.Read(d.block[4 : 4+keySize])
	return d
}

// begin sets n to the numbers of a version, beginning with its first.
func (d *deck) begin(n *stream, version int64) {
	n.block, n.left = d.block, 0
	binary.BigEndian.PutUint64(n.block[4+keySize:], uint64(version))
}

// stream yields the numbers of one version: SHA-256(counter, key, version) for the
// counters 1, 2, …, four words of 64 bits each. This is the one-step key derivation of
// NIST SP 800-56C, with inputs of fixed length.
type stream struct {
	block [4 + keySize + 8]byte
	words [sha256.Size]byte
	left  int // bytes of words that were not used
}

func (n *stream) next() uint64 {
	if n.left == 0 {
		binary.BigEndian.PutUint32(n.block[:4], binary.BigEndian.Uint32(n.block[:4])+1)
		n.words, n.left = sha256.Sum256(n.block[:]), sha256.Size
	}
	word := binary.BigEndian.Uint64(n.words[sha256.Size-n.left:])
	n.left -= 8
	return word
}

// Below returns a number from 0 to limit-1, each equally likely.
func (n *stream) Below(limit int64) int64 { return Below(limit, n.next) }

// Below returns a number from 0 to limit-1, each equally likely if all words are equally
// likely. It keeps only the bits of a word that limit-1 needs, and rejects the word if
// the result is too large. A modulo would favour the small numbers. On average it needs
// fewer than two words. limit is at least 1.
func Below(limit int64, next func() uint64) int64 {
	mask := uint64(1)<<bits.Len64(uint64(limit-1)) - 1
	for {
		if v := next() & mask; v < uint64(limit) {
			return int64(v)
		}
	}
}
