package codes

import (
	"context"
	"slices"

	"drawsvc/internal/draw"
	"drawsvc/internal/seal"
	"drawsvc/internal/stock/ledger"
)

// The rules of an audit about codes.
const (
	ruleCodesAreStock = "codes-are-stock" // stocked is at most the number of places, and each place has a code
	ruleCodeDouble    = "code-double"     // no code occurs twice
	ruleCodeUnsealed  = "code-unsealed"   // each code can be unsealed, and is found by its digest
)

// AuditCodes begins to check the codes of a pool that is audited. Only an instance with
// keys checks that they can be unsealed. Memory does not grow with the number of codes.
func (r *Register) AuditCodes(ctx context.Context, of *ledger.Audited, found ledger.Found) (ledger.Judge, error) {
	return ledger.Judge{End: func() error {
		if !slices.ContainsFunc(of.Prizes, func(p draw.Prize) bool { return p.HasCodes }) {
			return nil
		}
		a := &audit{
			Audited: of, register: r, found: found, ring: r.keys.Ring(),
			doubtful: map[[seal.DigestLength]byte]place{}, strays: map[[seal.DigestLength]byte]place{},
		}
		if err := a.findEqualDigests(ctx); err != nil {
			return err
		}
		if err := a.readKeysInUse(ctx); err != nil {
			return err
		}
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
	// name is the name under which the codes of the prize are sealed, and key is the key
	// of the last code. text is memory that is reused for each code.
	name, text []byte
	key        *seal.Key
	// doubtful holds the codes of a page that may equal other codes, by the digests that
	// such other codes would have.
	doubtful map[[seal.DigestLength]byte]place
	// strays holds the codes whose stored digest is wrong. Its keys are the right digests
	// under the first seal key. It holds at most straysMax codes.
	strays map[[seal.DigestLength]byte]place
	// inUse are the ids of the keys under which the pool's codes are sealed, according to
	// its heads.
	inUse map[string]bool
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
	// empty are the places of units that have returned, in order. next is the next place
	// that must have a code.
	empty []int64
	next  int64
}

// take checks the next place that has a code.
func (a *placeAudit) take(number int64) {
	if a.isEmpty(number) {
		a.found(ruleCodesAreStock, "place %d of prize %q is of a unit that has returned, and has a code", number, a.of.ID)
	}
	if number > 0 { // replaced codes are at places below 1
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

// missing reports the places below upTo that lack a code.
func (a *placeAudit) missing(upTo int64) {
	for a.next < upTo && a.isEmpty(a.next) {
		a.next++
	}
	if a.next < upTo {
		a.found(ruleCodesAreStock, "prize %q has no code at the places %d to %d", a.of.ID, a.next, upTo-1)
	}
	a.next = max(a.next, upTo+1)
}

// opens checks that a code can be unsealed, if its key is present, and is found by its
// digest.
func (a *audit) opens(at place, code *scannedCode) {
	if a.ring.First() == nil {
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
		a.stray(at, text)
	}
	a.doubt(at, text, isFound)
}
