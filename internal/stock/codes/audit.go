package codes

import (
	"context"
	"database/sql"

	"drawsvc/internal/seal"
	"drawsvc/internal/stock/ledger"
)

// The rules of an audit about codes.
const (
	ruleCodesAreStock = "codes-are-stock" // stocked is at most places, and a code is at each place
	ruleCodeDouble    = "code-double"     // no code is there twice
	ruleCodeUnsealed  = "code-unsealed"   // each code opens, and is found by its digest
)

// AuditCodes checks the codes of a pool's prizes, in a snapshot. Whether they open is checked
// where there are keys. found is called with each violation.
func (r *Register) AuditCodes(ctx context.Context, tx *sql.Tx, poolID string, found func(rule, format string, args ...any)) error {
	prizes, err := r.ledger.Prizes(ctx, tx, poolID)
	if err != nil {
		return err
	}
	seen := map[[seal.DigestLength]byte]place{}
	empty, err := r.ledger.ReturnedUnits(ctx, tx, poolID)
	if err != nil {
		return err
	}
	for i := range prizes {
		p := &prizes[i]
		if !p.HasCodes {
			continue
		}
		if p.Stocked > p.Places {
			found(ruleCodesAreStock, "prize %q says %d stocked, and has %d places", p.ID, p.Stocked, p.Places)
		}
		next := int64(1)
		missing := func(upTo int64) {
			for next < upTo && empty[ledger.Unit{PrizeID: p.ID, Number: next}] {
				next++
			}
			if next < upTo {
				found(ruleCodesAreStock, "prize %q has no code at the places %d to %d", p.ID, next, upTo-1)
			}
			next = max(next, upTo+1)
		}
		err := r.eachOf(ctx, tx, poolID, p.ID, func(number int64, code sealedCode) error {
			if empty[ledger.Unit{PrizeID: p.ID, Number: number}] {
				found(ruleCodesAreStock, "place %d of prize %q is of a unit that has returned, and has a code", number, p.ID)
			}
			if number > 0 { // below are those that were replaced
				missing(number)
			}
			if number > p.Places {
				found(ruleCodesAreStock, "prize %q has a code at place %d of %d", p.ID, number, p.Places)
			}
			r.auditOpens(poolID, place{p.ID, number}, code, seen, found)
			return nil
		})
		if err != nil {
			return err
		}
		missing(p.Places + 1)
	}
	return nil
}

// auditOpens checks that a code opens, by its key where that is here, and is there once.
func (r *Register) auditOpens(poolID string, at place, code sealedCode, seen map[[seal.DigestLength]byte]place, found func(rule, format string, args ...any)) {
	ring := r.keys.Ring()
	if ring.First() == nil {
		return
	}
	key := ring.Key(code.keyID)
	if key == nil {
		found(ruleCodeUnsealed, "the code of place %d of prize %q is sealed under the key %q, which is not here", at.number, at.prizeID, code.keyID)
		return
	}
	text, err := key.Open(codeName(poolID, at.prizeID), code.sealed)
	if err != nil {
		found(ruleCodeUnsealed, "the code of place %d of prize %q does not open", at.number, at.prizeID)
		return
	}
	digest := key.Digest(text)
	if string(digest[:]) != string(code.digest) {
		found(ruleCodeUnsealed, "the code of place %d of prize %q is not the one of its digest", at.number, at.prizeID)
	}
	one := ring.First().Digest(text) // rows may be under several keys
	if first, twice := seen[one]; twice {
		found(ruleCodeDouble, "places %d of prize %q and %d of prize %q have one code", first.number, first.prizeID, at.number, at.prizeID)
		return
	}
	seen[one] = at
}
