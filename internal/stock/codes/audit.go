package codes

import (
	"context"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/seal"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// The rules of an audit about codes.
const (
	ruleCodesAreStock = "codes-are-stock" // stocked is at most places, and a code is at each place
	ruleCodeDouble    = "code-double"     // no code is there twice
	ruleCodeUnsealed  = "code-unsealed"   // each code opens, and is found by its digest
)

// AuditCodes begins to check the codes of the prizes of a pool that is audited. Whether
// they open is checked where there are keys. Memory does not grow with the codes.
func (r *Register) AuditCodes(ctx context.Context, of *ledger.Audited, found ledger.Found) (ledger.Judge, error) {
	return ledger.Judge{End: func() error {
		a := &audit{Audited: of, register: r, found: found, ring: r.keys.Ring(), doubtful: map[[seal.DigestLength]byte]place{}}
		for i := range of.Prizes {
			if !of.Prizes[i].HasCodes {
				continue
			}
			if err := a.prize(ctx, i); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

// audit checks the codes of a pool, prize by prize.
type audit struct {
	*ledger.Audited
	register *Register
	found    ledger.Found
	ring     *seal.Ring
	// name is what the codes of the prize are sealed for; key is the one of the last
	// code, text is memory for a code.
	name, text []byte
	key        *seal.Key
	// doubtful are codes of a page that others may equal, by the digests that the others
	// would have.
	doubtful map[[seal.DigestLength]byte]place
}

// prize checks the codes of a prize.
func (a *audit) prize(ctx context.Context, i int) error {
	p := &a.Prizes[i]
	a.name = []byte(codeName(a.PoolID, p.ID))
	if p.Stocked > p.Places {
		a.found(ruleCodesAreStock, "prize %q says %d stocked, and has %d places", p.ID, p.Stocked, p.Places)
	}
	places := placeAudit{audit: a, of: p, empty: slices.Clone(a.Returned[p.ID]), next: 1}
	slices.Sort(places.empty)
	err := a.register.eachOf(ctx, a.Querier, a.PoolID, p.ID, func(number int64, code *scannedCode) error {
		places.take(number)
		a.opens(place{p.ID, number}, code)
		return nil
	}, func() error { return a.findDoubles(ctx) })
	if err != nil {
		return err
	}
	places.missing(p.Places + 1)
	return nil
}

// placeAudit checks that the codes of a prize are at its places.
type placeAudit struct {
	*audit
	of *draw.Prize
	// empty are the places of units that have returned, in order; next is the next place
	// that must have a code.
	empty []int64
	next  int64
}

// take checks the next place that has a code.
func (a *placeAudit) take(number int64) {
	if a.isEmpty(number) {
		a.found(ruleCodesAreStock, "place %d of prize %q is of a unit that has returned, and has a code", number, a.of.ID)
	}
	if number > 0 { // below are those that were replaced
		a.missing(number)
	}
	if number > a.of.Places {
		a.found(ruleCodesAreStock, "prize %q has a code at place %d of %d", a.of.ID, number, a.of.Places)
	}
}

func (a *placeAudit) isEmpty(number int64) bool {
	_, is := slices.BinarySearch(a.empty, number)
	return is
}

// missing reports the places up to one that have no code.
func (a *placeAudit) missing(upTo int64) {
	for a.next < upTo && a.isEmpty(a.next) {
		a.next++
	}
	if a.next < upTo {
		a.found(ruleCodesAreStock, "prize %q has no code at the places %d to %d", a.of.ID, a.next, upTo-1)
	}
	a.next = max(a.next, upTo+1)
}

// opens checks that a code opens, by its key where that is here. A code that is sealed
// under the first key and found by its digest is there once, by the constraint of the
// schema. Others may equal it unseen: rows may be under several keys.
func (a *audit) opens(at place, code *scannedCode) {
	first := a.ring.First()
	if first == nil {
		return
	}
	if a.key == nil || a.key.ID != string(code.keyID) {
		a.key = a.ring.Key(string(code.keyID))
	}
	if a.key == nil {
		a.found(ruleCodeUnsealed, "the code of place %d of prize %q is sealed under the key %q, which is not here", at.number, at.prizeID, string(code.keyID))
		return
	}
	text, err := a.key.OpenInto(a.text, a.name, code.sealed)
	if err != nil {
		a.found(ruleCodeUnsealed, "the code of place %d of prize %q does not open", at.number, at.prizeID)
		return
	}
	a.text = text
	digest := a.key.Digest(text)
	isFound := string(digest[:]) == string(code.digest)
	if !isFound {
		a.found(ruleCodeUnsealed, "the code of place %d of prize %q is not the one of its digest", at.number, at.prizeID)
	}
	if isFound && a.key == first {
		return
	}
	for _, key := range a.ring.Keys() {
		a.doubtful[key.Digest(text)] = at
	}
}

// findDoubles searches the pool for the doubtful codes of a page.
func (a *audit) findDoubles(ctx context.Context) error {
	digests := make([][]byte, 0, len(a.doubtful))
	for digest := range a.doubtful {
		digests = append(digests, slices.Clone(digest[:]))
	}
	for few := range slices.Chunk(digests, lookUpMax) {
		query := a.register.ledger.SelectFrom("codes", "prize_id", "place", "key_id", "sealed", "digest", "pool_id").Where(squirrel.Eq{"digest": anys(few)})
		rows, err := ledger.SelectAll(ctx, a, query, func(row engine.Scanner) (c codeRow, err error) {
			var pool string
			if err = row.Scan(&c.prizeID, &c.number, &c.keyID, &c.sealed, &c.digest, &pool); pool != a.PoolID {
				c.digest = nil
			}
			return c, err
		})
		if err != nil {
			return err
		}
		for i := range rows {
			if len(rows[i].digest) == seal.DigestLength {
				a.checkDouble(a.doubtful[[seal.DigestLength]byte(rows[i].digest)], &rows[i])
			}
		}
	}
	clear(a.doubtful)
	return nil
}

// checkDouble reports a code that equals a doubtful one. Two doubtful ones find each other:
// the later one reports both.
func (a *audit) checkDouble(at place, other *codeRow) {
	key := a.ring.Key(other.keyID)
	if at == other.place || key == nil {
		return
	}
	text, err := key.Open(codeName(a.PoolID, other.prizeID), other.sealed)
	if digest := key.Digest(text); err != nil || string(digest[:]) != string(other.digest) {
		return // which is reported of that place
	}
	first, later := at, other.place
	if a.isBefore(later, first) {
		first, later = later, first
	} else if key != a.ring.First() {
		return
	}
	a.found(ruleCodeDouble, "places %d of prize %q and %d of prize %q have one code", first.number, first.prizeID, later.number, later.prizeID)
}

// isBefore reports whether a place is checked before another.
func (a *audit) isBefore(one, other place) bool {
	if one.prizeID == other.prizeID {
		return one.number < other.number
	}
	next := slices.IndexFunc(a.Prizes, func(p draw.Prize) bool { return p.ID == one.prizeID || p.ID == other.prizeID })
	return next >= 0 && a.Prizes[next].ID == one.prizeID
}
