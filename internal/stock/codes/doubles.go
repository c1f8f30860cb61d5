package codes

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/seal"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// straysMax is the maximum number of codes with a wrong digest that an audit keeps, to
// find equal codes among them. Each of these codes is reported in any case.
const straysMax = 100_000

// AreCodesUnique reports whether the schema excludes equal codes: the constraint
// code_once makes the digest unique. Errors: those of the store.
func (r *Register) AreCodesUnique(ctx context.Context) (are bool, err error) {
	if r.ledger.Engine.Lacks(engine.PartCodes) {
		return true, nil
	}
	err = r.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		are, err = r.areUnique(ctx, tx)
		return err
	})
	return are, err
}

func (r *Register) areUnique(ctx context.Context, q engine.Querier) (are bool, err error) {
	n := int64(0)
	err = engine.EachRow(ctx, q, r.ledger.Engine.CodeOnce, nil, []any{&n}, func() {})
	return n > 0, err
}

// readKeysInUse reads the ids of the keys under which the pool's codes are sealed.
func (a *audit) readKeysInUse(ctx context.Context) error {
	a.inUse = map[string]bool{}
	query := a.register.ledger.SelectFrom("code_heads", "sealed_under").Where(squirrel.Eq{"pool_id": a.PoolID})
	_, err := ledger.SelectAll(ctx, a, query, func(row engine.Scanner) (struct{}, error) {
		var under string
		err := row.Scan(&under)
		for id := range strings.FieldsSeq(under) {
			a.inUse[id] = true
		}
		return struct{}{}, err
	})
	return err
}

// doubt records a code that may equal another code without a conflict of digests. The
// schema excludes equal digests, so two equal codes with right digests are sealed under
// different keys. The code whose key is later in the key file is then searched under the
// other keys in use. A code with a wrong digest, or with a key that the heads do not
// name, is searched under all keys.
func (a *audit) doubt(at place, text []byte, isFound bool) {
	isKnown := isFound && a.inUse[a.key.ID]
	for _, key := range a.ring.Keys() {
		if isKnown && key == a.key {
			return
		}
		if isFound && key == a.key || isKnown && !a.inUse[key.ID] {
			continue
		}
		a.doubtful[key.Digest(text)] = at
	}
}

// stray reports a code with a wrong digest if it equals an earlier code with a wrong
// digest.
func (a *audit) stray(at place, text []byte) {
	digest := a.ring.First().Digest(text)
	if former, isThere := a.strays[digest]; isThere {
		a.reportDouble(former, at, "code")
	} else if len(a.strays) < straysMax {
		a.strays[digest] = at
	}
}

// findDoubles searches the pool for the doubtful codes of a page.
func (a *audit) findDoubles(ctx context.Context) error {
	digests := make([][]byte, 0, len(a.doubtful))
	for digest := range a.doubtful {
		digests = append(digests, slices.Clone(digest[:]))
	}
	err := a.lookUp(ctx, digests, func(c *codeRow) { a.checkDouble(a.doubtful[[seal.DigestLength]byte(c.digest)], c) })
	clear(a.doubtful)
	return err
}

// lookUp yields the codes of the pool that have one of the given digests.
func (a *audit) lookUp(ctx context.Context, digests [][]byte, each func(c *codeRow)) error {
	for few := range slices.Chunk(digests, lookUpMax) {
		query := a.register.ledger.SelectFrom("codes", "prize_id", "place", "key_id", "sealed", "digest", "pool_id").
			Where(squirrel.Eq{"digest": anys(few)}).Limit(2 * lookUpMax) // there are more only if the schema does not exclude equal digests
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
				each(&rows[i])
			}
		}
	}
	return nil
}

// findEqualDigests reports codes with equal digests if the schema does not exclude them.
// For that, the database sorts all digests of the pool, which takes longer than the rest
// of the audit. So the query is skipped if the constraint exists.
func (a *audit) findEqualDigests(ctx context.Context) error {
	isUnique, err := a.register.areUnique(ctx, a)
	if err != nil || isUnique {
		return err
	}
	a.found(ruleCodeDouble, "the table codes has no unique constraint code_once: the database does not refuse equal codes")
	query := a.register.ledger.SelectFrom("codes", "digest").Where(squirrel.Eq{"pool_id": a.PoolID}).
		GroupBy("digest").Having("COUNT(*) > 1").Limit(lookUpMax)
	digests, err := ledger.SelectAll(ctx, a, query, func(row engine.Scanner) (digest []byte, err error) {
		err = row.Scan(&digest)
		return digest, err
	})
	if err != nil {
		return err
	}
	former := map[[seal.DigestLength]byte]place{}
	return a.lookUp(ctx, digests, func(c *codeRow) {
		digest := [seal.DigestLength]byte(c.digest)
		if other, isThere := former[digest]; isThere {
			a.reportDouble(other, c.place, "digest")
			return
		}
		former[digest] = c.place
	})
}

// checkDouble reports another code if it equals the doubtful code at a place.
func (a *audit) checkDouble(at place, other *codeRow) {
	key := a.ring.Key(other.keyID)
	if at == other.place || key == nil {
		return
	}
	text, err := key.Open(codeName(a.PoolID, other.prizeID), other.sealed)
	if digest := key.Digest(text); err != nil || string(digest[:]) != string(other.digest) {
		return // the audit of that place reports this
	}
	a.reportDouble(at, other.place, "code")
}

// reportDouble reports two places that have the same code or the same digest, in the
// order of the audit.
func (a *audit) reportDouble(first, later place, what string) {
	if a.isBefore(later, first) {
		first, later = later, first
	}
	a.found(ruleCodeDouble, "places %d of prize %q and %d of prize %q have one %s", first.number, first.prizeID, later.number, later.prizeID, what)
}

// isBefore reports whether the audit checks a place before another.
func (a *audit) isBefore(one, other place) bool {
	if one.prizeID == other.prizeID {
		return one.number < other.number
	}
	next := slices.IndexFunc(a.Prizes, func(p draw.Prize) bool { return p.ID == one.prizeID || p.ID == other.prizeID })
	return next >= 0 && a.Prizes[next].ID == one.prizeID
}
