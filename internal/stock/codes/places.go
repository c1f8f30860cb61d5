package codes

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }

// CodeCounts returns the counts of a prize's codes. Errors: CodePoolNotFound,
// CodePrizeNotFound, CodePrizeHasNoCodes, CodeInvalidRequest for a blank, and those of
// the store.
func (r *Register) CodeCounts(ctx context.Context, poolID, prizeID string) (c draw.CodeCounts, err error) {
	err = r.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		prize, err := r.codedPrize(ctx, tx, poolID, prizeID)
		if err != nil {
			return err
		}
		c, err = r.count(ctx, tx, poolID, &prize)
		return err
	})
	return c, err
}

func (r *Register) count(ctx context.Context, q engine.Querier, poolID string, prize *draw.Prize) (draw.CodeCounts, error) {
	c := draw.CodeCounts{Places: prize.Places, Stocked: prize.Stocked, Issued: prize.Issued, Keys: map[string]int64{}}
	query := r.ledger.SelectFrom("codes", "key_id", "COUNT(*)").Where(ofPrize(poolID, prize.ID)).GroupBy("key_id")
	_, err := ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (struct{}, error) {
		var id string
		var n int64
		err := row.Scan(&id, &n)
		c.Keys[id] = n
		return struct{}{}, err
	})
	return c, err
}

func ofPrize(poolID, prizeID string) squirrel.Eq {
	return squirrel.Eq{"pool_id": poolID, "prize_id": prizeID}
}

// DropCodes removes the last codes of the reserve of a prize, and returns the new counts.
// Dropped codes may be imported again, into any prize. Errors: CodeInvalidRequest,
// CodePoolNotFound, CodePrizeNotFound, CodePrizeHasNoCodes, CodeCodesMissing if the
// reserve has fewer codes, CodePoolClosed, and those of the store.
func (r *Register) DropCodes(ctx context.Context, poolID, prizeID string, count int64, actor string) (c draw.CodeCounts, err error) {
	if count < 1 {
		return c, draw.Errorf(draw.CodeInvalidRequest, "count must be 1 or more")
	}
	if err := draw.CheckActor(actor); err != nil {
		return c, err
	}
	err = r.ledger.Change(ctx, func(tx *sql.Tx) error {
		of, err := r.ledger.LockPool(ctx, tx, poolID, actor)
		if err != nil {
			return err
		}
		prize, err := r.codedPrize(ctx, tx, poolID, prizeID)
		if err != nil {
			return err
		}
		if err := of.Pool.CheckNotClosed(); err != nil {
			return err
		}
		h, err := r.lockHead(ctx, tx, poolID, prizeID)
		if err != nil {
			return err
		}
		if prize.Places = h.places - count; prize.Places < prize.Stocked {
			return draw.Errorf(draw.CodeCodesMissing, "prize %q has a reserve of %d codes; %d cannot be dropped", prizeID, h.places-prize.Stocked, count)
		}
		beyond := squirrel.And{ofPrize(poolID, prizeID), squirrel.Gt{"place": prize.Places}}
		if _, err := r.ledger.Builder().Delete("codes").Where(beyond).RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
		h.places = prize.Places
		if err := r.setHead(ctx, tx, poolID, prizeID, h); err != nil {
			return err
		}
		body := droppedBody{prizeID, count}
		if err := r.ledger.Record(ctx, tx, of, []ledger.NewChange{{What: draw.WhatCodes, Body: body}}); err != nil {
			return err
		}
		c, err = r.count(ctx, tx, poolID, &prize)
		return err
	})
	if err == nil {
		r.ledger.Changed(poolID)
	}
	return c, err
}

// ReplaceCode puts the last code of a prize's reserve at a place. The code that was there
// moves to the place kept, so that it stays stored. The pool's row is locked. Error:
// CodeCodesMissing.
func (r *Register) ReplaceCode(ctx context.Context, tx *sql.Tx, poolID, prizeID string, place, kept int64) error {
	prize, err := r.codedPrize(ctx, tx, poolID, prizeID)
	if err != nil {
		return err
	}
	h, err := r.lockHead(ctx, tx, poolID, prizeID)
	if err != nil {
		return err
	}
	if h.places <= prize.Stocked {
		return draw.Errorf(draw.CodeCodesMissing, "prize %q has no code in the reserve", prizeID)
	}
	if err := r.moveCode(ctx, tx, poolID, prizeID, place, kept); err != nil {
		return err
	}
	if err := r.moveCode(ctx, tx, poolID, prizeID, h.places, place); err != nil {
		return err
	}
	h.places--
	return r.setHead(ctx, tx, poolID, prizeID, h)
}

// MoveCodesToEnd moves the codes at given places of a prize to new places after the last
// one. Their old places stay empty. The pool's row is locked.
func (r *Register) MoveCodesToEnd(ctx context.Context, tx *sql.Tx, poolID, prizeID string, places []int64) error {
	h, err := r.lockHead(ctx, tx, poolID, prizeID)
	if err != nil {
		return err
	}
	for _, place := range places {
		h.places++
		if err := r.moveCode(ctx, tx, poolID, prizeID, place, h.places); err != nil {
			return err
		}
	}
	return r.setHead(ctx, tx, poolID, prizeID, h)
}

func (r *Register) moveCode(ctx context.Context, tx *sql.Tx, poolID, prizeID string, from, to int64) error {
	at := squirrel.And{ofPrize(poolID, prizeID), squirrel.Eq{"place": from}}
	return ledger.ExecOne(ctx, tx, r.ledger.Builder().Update("codes").Set("place", to).Where(at))
}

// EachCode yields the codes of a pool in order of prize and place, each with the award
// that gave it. If issued is set, it leaves out codes that no award has, including
// replaced codes. Errors: the error of each, CodeSealKeyMissing, CodePoolNotFound, and
// those of the store.
func (r *Register) EachCode(ctx context.Context, poolID string, issued bool, each func(*draw.GivenCode) error) error {
	return r.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		prizes, err := r.ledger.Prizes(ctx, tx, poolID)
		if err != nil {
			return err
		}
		given, err := r.versions(ctx, tx, poolID, prizes)
		if err != nil {
			return err
		}
		for i := range prizes {
			p := &prizes[i]
			err := r.eachOf(ctx, tx, poolID, p.ID, func(number int64, code *scannedCode) error {
				g := draw.GivenCode{PrizeID: p.ID, Place: number, IsStocked: number <= p.Stocked}
				if versions := given[p.ID]; number >= 1 && number <= int64(len(versions)) {
					g.Version = versions[number-1]
				}
				if issued && g.Version == 0 {
					return nil
				}
				var err error
				if g.Code, err = r.open(poolID, p.ID, sealedCode{keyID: string(code.keyID), sealed: code.sealed}); err != nil {
					return err
				}
				return each(&g)
			}, nil)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// versions returns the versions of the awards of prizes with codes, in order of their
// units.
func (r *Register) versions(ctx context.Context, tx *sql.Tx, poolID string, prizes []draw.Prize) (map[string][]int64, error) {
	given := map[string][]int64{}
	for i := range prizes {
		if prizes[i].HasCodes {
			given[prizes[i].ID] = nil
		}
	}
	if len(given) == 0 {
		return given, nil
	}
	for after := int64(0); ; {
		query := r.ledger.SelectFrom("awards", "version", "prize_id", "unit").Where(squirrel.Eq{"pool_id": poolID})
		read := 0
		_, err := ledger.SelectAll(ctx, tx, ledger.PageAfter(query, after, ledger.PageMax), func(row engine.Scanner) (struct{}, error) {
			var prize string
			var unit int64
			err := row.Scan(&after, &prize, &unit)
			if of, isCoded := given[prize]; isCoded && unit == int64(len(of))+1 { // each award of a prize has the next unit
				given[prize] = append(of, after)
			}
			read++
			return struct{}{}, err
		})
		if err != nil || read < ledger.PageMax {
			return given, err
		}
	}
}

// eachOf yields the codes of a prize in order of their places. The memory of a code is
// valid only until the next code. page, unless it is nil, is called after each page of
// codes. Only page may read other rows.
func (r *Register) eachOf(ctx context.Context, q engine.Querier, poolID, prizeID string, each func(number int64, code *scannedCode) error, page func() error) error {
	var number int64
	code := &scannedCode{}
	fields := []any{&number, &code.keyID, &code.sealed, &code.digest}
	for after, isLast := beforePlaces, false; !isLast; after = number {
		query := r.ledger.SelectFrom("codes", "place", "key_id", "sealed", "digest").Where(ofPrize(poolID, prizeID)).
			Where(squirrel.Gt{"place": after}).OrderBy("place").Limit(ledger.PageMax)
		text, args, err := query.ToSql()
		if err != nil {
			return err
		}
		var failed error
		read := 0
		err = engine.EachRow(ctx, q, text, args, fields, func() {
			if read++; failed == nil {
				failed = each(number, code)
			}
		})
		if err = cmp.Or(failed, err); err == nil && page != nil {
			err = page()
		}
		if err != nil {
			return err
		}
		isLast = read < ledger.PageMax
	}
	return nil
}

// scannedCode holds one code, and is reused for the next row.
type scannedCode struct {
	keyID          engine.Word
	sealed, digest engine.Bytes
}

// codeRow is a row of the table codes.
type codeRow struct {
	place
	sealedCode
}

func scanCode(row engine.Scanner) (c codeRow, err error) {
	err = row.Scan(&c.prizeID, &c.number, &c.keyID, &c.sealed, &c.digest)
	return c, err
}
