package codes

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/seal"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// resealMax is the maximum number of codes that one transaction seals again.
const resealMax = 1000

// ResealCodes seals all codes under the first key of the key file, and removes the keys
// under which nothing is sealed any more. Draws continue meanwhile. progress, if it is
// not nil, is called with the number of codes that were sealed again. Errors:
// CodeSealKeyMissing, and those of the store.
func (r *Register) ResealCodes(ctx context.Context, progress func(done int64)) (done int64, err error) {
	key, err := r.SealingKey(ctx)
	if err != nil {
		return 0, err
	}
	heads, err := r.heads(ctx)
	if err != nil {
		return 0, err
	}
	for _, of := range heads {
		for after, ended := beforePlaces, false; !ended; {
			var n int64
			if n, after, ended, err = r.resealPart(ctx, key, of, after); err != nil {
				return done, err
			}
			if done += n; progress != nil && n > 0 {
				progress(done)
			}
		}
	}
	return done, r.removeKeys(ctx, key)
}

// beforePlaces is lower than any place.
const beforePlaces = int64(-1) << 62

// headOf identifies the head of a prize.
type headOf struct{ poolID, prizeID string }

func (r *Register) heads(ctx context.Context) (all []headOf, err error) {
	err = r.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		query := r.ledger.SelectFrom("code_heads", "pool_id", "prize_id").OrderBy("pool_id", "prize_id")
		all, err = ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (h headOf, err error) {
			err = row.Scan(&h.poolID, &h.prizeID)
			return h, err
		})
		return err
	})
	return all, err
}

// resealPart seals the next codes of a prize that are sealed under other keys. If no such
// code remains, it makes the head name only the current key.
func (r *Register) resealPart(ctx context.Context, key *seal.Key, of headOf, after int64) (n, last int64, ended bool, err error) {
	err = r.ledger.Change(ctx, func(tx *sql.Tx) error {
		n, last, ended = 0, after, false
		if err := r.lockWriters(ctx, tx, key); err != nil {
			return err
		}
		h, err := r.lockHead(ctx, tx, of.poolID, of.prizeID)
		if err != nil {
			return err
		}
		others := squirrel.And{ofPrize(of.poolID, of.prizeID), squirrel.NotEq{"key_id": key.ID}}
		query := r.ledger.SelectFrom("codes", "prize_id", "place", "key_id", "sealed", "digest").Where(others).
			Where(squirrel.Gt{"place": after}).OrderBy("place").Limit(resealMax)
		rows, err := ledger.SelectAll(ctx, tx, query, scanCode)
		if err != nil {
			return err
		}
		if len(rows) == 0 && after > beforePlaces {
			last = beforePlaces // a code may have moved to a place that was read before
			return nil
		}
		if ended = len(rows) == 0; ended {
			h.under = nil
			if h.places > 0 {
				h.under = []string{key.ID}
			}
			return r.setHead(ctx, tx, of.poolID, of.prizeID, h)
		}
		n, last = int64(len(rows)), rows[len(rows)-1].number
		part := squirrel.And{others, squirrel.Gt{"place": after}, squirrel.LtOrEq{"place": last}}
		if _, err := r.ledger.Builder().Delete("codes").Where(part).RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
		for few := range slices.Chunk(rows, ledger.RowsMax) {
			insert := r.insertCodes()
			for i := range few {
				text, err := r.open(of.poolID, of.prizeID, few[i].sealedCode)
				if err != nil {
					return err
				}
				insert = r.codeRow(insert, of.poolID, of.prizeID, few[i].number, key, []byte(text))
			}
			if _, err := insert.RunWith(tx).ExecContext(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return n, last, ended, err
}

// removeKeys removes the proofs of keys that no head names.
func (r *Register) removeKeys(ctx context.Context, key *seal.Key) error {
	return r.ledger.Change(ctx, func(tx *sql.Tx) error {
		if err := r.lockWriters(ctx, tx, key); err != nil {
			return err
		}
		used := []string{key.ID}
		query := r.ledger.SelectFrom("code_heads", "sealed_under").GroupBy("sealed_under")
		_, err := ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (struct{}, error) {
			var under string
			err := row.Scan(&under)
			used = append(used, strings.Fields(under)...)
			return struct{}{}, err
		})
		if err != nil {
			return err
		}
		_, err = r.ledger.Builder().Delete("seal_keys").Where(squirrel.NotEq{"key_id": used}).RunWith(tx).ExecContext(ctx)
		return err
	})
}

// ForgetCodes removes the codes of a pool that has never issued a unit.
func (r *Register) ForgetCodes(ctx context.Context, tx *sql.Tx, poolID string) error {
	if r.ledger.Engine.Lacks(engine.PartCodes) {
		return nil
	}
	for _, table := range []string{"code_imports", "codes", "code_heads"} {
		if _, err := r.ledger.Builder().Delete(table).Where(squirrel.Eq{"pool_id": poolID}).RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
	}
	return nil
}
