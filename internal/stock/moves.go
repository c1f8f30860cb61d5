package stock

import (
	"context"
	"database/sql"
	"errors"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/ledger"
)

// AddPrize adds a prize to a pool and returns it. Errors: CodeInvalidRequest,
// CodePoolNotFound, CodePrizeExists, CodePoolClosed, CodePoolOpen for an open pool
// with a beacon, and those of the store.
func (s *Store) AddPrize(ctx context.Context, poolID string, p draw.Prize, actor string) (draw.Prize, error) {
	if err := errors.Join(p.Check(), draw.CheckActor(actor)); err != nil {
		return draw.Prize{}, first(err)
	}
	p.Issued = 0
	err := s.ledger.Change(ctx, func(tx *sql.Tx) error {
		of, err := s.ledger.LockPool(ctx, tx, poolID, actor)
		if err != nil {
			return err
		}
		if _, err := s.ledger.Prize(ctx, tx, poolID, p.ID); draw.CodeOf(err) != draw.CodePrizeNotFound {
			return errors.Join(err, draw.Errorf(draw.CodePrizeExists, "pool %q has a prize %q already", poolID, p.ID))
		}
		if err := s.checkRoom(ctx, tx, poolID); err != nil {
			return err
		}
		return s.ledger.StockAll(ctx, tx, of, []ledger.Stocking{{Prize: p, Delta: p.Stocked, Reason: reasonCreated, IsNew: true}})
	})
	if err != nil {
		return draw.Prize{}, err
	}
	s.options.Changed(poolID)
	return p, nil
}

// checkRoom returns an error if a pool has the maximum number of prizes.
func (s *Store) checkRoom(ctx context.Context, tx *sql.Tx, poolID string) error {
	found, err := ledger.SelectAll(ctx, tx, s.ledger.SelectFrom("prizes", "COUNT(*)").Where(squirrel.Eq{"pool_id": poolID}), ledger.ScanInt)
	if err == nil && found[0] >= draw.PrizesMax {
		return draw.Errorf(draw.CodeInvalidRequest, "pool %q holds %d prizes, which is the maximum", poolID, found[0])
	}
	return err
}

// Stock changes one prize's stock and returns the move. With a key the change is made
// only once: a second call with the same key returns the first move. Errors:
// CodeInvalidRequest, CodePoolNotFound, CodePrizeNotFound, CodeStockBelowIssued,
// CodePoolClosed, CodePoolOpen for an open pool with a beacon, CodeKeyReused, and those
// of the store.
func (s *Store) Stock(ctx context.Context, w draw.Stocking, actor string) (draw.Move, error) {
	if err := errors.Join(w.Check(), draw.CheckActor(actor)); err != nil {
		return draw.Move{}, first(err)
	}
	var move draw.Move
	err := s.ledger.Change(ctx, func(tx *sql.Tx) error {
		of, err := s.ledger.LockPool(ctx, tx, w.PoolID, actor)
		if err != nil {
			return err
		}
		if w.Key != "" {
			known, err := s.moveByKey(ctx, tx, w)
			if err != nil || known != nil {
				if known != nil {
					move = *known
				}
				return err
			}
		}
		prize, err := s.ledger.Prize(ctx, tx, w.PoolID, w.PrizeID)
		if err != nil {
			return err
		}
		if err := errors.Join(of.Pool.CheckNotClosed(), w.Admit(&prize), ledger.CheckDelta(prize, w.Delta)); err != nil {
			return first(err)
		}
		err = s.ledger.StockAll(ctx, tx, of, []ledger.Stocking{{Prize: prize, Delta: w.Delta, Reason: w.Reason, Key: w.Key}})
		move = draw.Move{
			Version: of.Head.Version, PoolID: w.PoolID, PrizeID: w.PrizeID, Delta: w.Delta, Reason: w.Reason, Actor: actor, Key: w.Key,
			At: of.At, Stocked: prize.Stocked + w.Delta, Issued: prize.Issued,
		}
		return err
	})
	if err != nil {
		return draw.Move{}, err
	}
	s.options.Changed(w.PoolID)
	return move, nil
}

// moveByKey returns the move that has w's key, nil for none.
func (s *Store) moveByKey(ctx context.Context, tx *sql.Tx, w draw.Stocking) (*draw.Move, error) {
	query := ledger.FirstFrom(s.ledger.SelectMoves(w.PoolID), "key_id", w.Key)
	known, err := ledger.SelectAll(ctx, tx, query, s.ledger.ScanMove(w.PoolID))
	if err != nil || len(known) == 0 || known[0].Key != w.Key {
		return nil, err
	}
	move := known[0]
	if move.PrizeID != w.PrizeID || move.Delta != w.Delta || move.Reason != w.Reason {
		return nil, draw.Errorf(draw.CodeKeyReused, "the key %q was used for another stock move", w.Key)
	}
	move.Replayed = true
	return &move, nil
}
