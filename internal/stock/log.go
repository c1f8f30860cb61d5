package stock

import (
	"context"
	"database/sql"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Draw returns a draw from the pool's log. Errors: CodePoolNotFound, CodeDrawNotFound,
// and those of the store.
func (s *Store) Draw(ctx context.Context, poolID, drawID string) (draw.Draw, error) {
	var found map[string]draw.Draw
	err := s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		found = map[string]draw.Draw{}
		query, scan := s.ledger.SelectCodedAwards(poolID)
		awards, err := ledger.SelectAll(ctx, tx, query.Where(squirrel.Eq{"a.draw_id": drawID}).OrderBy("a.ordinal"), scan)
		for _, a := range awards {
			engine.Collect(found, poolID, a)
		}
		if d, isFound := found[drawID]; err == nil && isFound {
			d.Lives, err = s.LivesOf(ctx, tx, poolID, d.Awards)
			found[drawID] = d
		}
		if err == nil && len(found) == 0 {
			return s.ledger.Absent(ctx, tx, draw.Errorf(draw.CodeDrawNotFound, "pool %q has no draw %q", poolID, drawID))
		}
		return err
	})
	if err != nil {
		return draw.Draw{}, err
	}
	return found[drawID], s.confirm(ctx)
}

// DrawWithCodes is Draw with the lives of the awards, and with the codes that may be
// shown. Errors: CodeSealKeyMissing, and those of Draw.
func (s *Store) DrawWithCodes(ctx context.Context, poolID, drawID string) (draw.Draw, error) {
	d, err := s.Draw(ctx, poolID, drawID)
	if err != nil {
		return draw.Draw{}, err
	}
	return s.withCodes(ctx, d)
}

// withCodes adds the codes that may be shown to a draw.
func (s *Store) withCodes(ctx context.Context, d draw.Draw) (draw.Draw, error) {
	for i := range d.Awards {
		a := &d.Awards[i]
		if i < len(d.Lives) && d.Lives[i] != nil {
			a.NeedsClaim, a.HasCode = d.Lives[i].NeedsClaim, d.Lives[i].IsCodeOpen()
		}
	}
	if !d.HasCodes() {
		return d, nil
	}
	return d, s.HandOut(ctx, d.PoolID, []*draw.Draw{&d})
}

// HandOut adds, to the awards of draws of one pool, their codes and the time until which
// they must be claimed. Errors: CodeSealKeyMissing, CodeRulesUnreadable, and those of the
// store.
func (s *Store) HandOut(ctx context.Context, poolID string, draws []*draw.Draw) error {
	if err := s.MarkClaims(ctx, poolID, draws); err != nil {
		return err
	}
	coded := slices.DeleteFunc(slices.Clone(draws), func(d *draw.Draw) bool { return !d.HasCodes() })
	if len(coded) == 0 {
		return nil
	}
	return s.Register.HandOut(ctx, poolID, coded)
}

// DrawReceipt returns the receipt of a draw in the pool's log, and the proof that its
// lines are in the log of a checkpoint. The proof is nil if no checkpoint covers them
// yet. Errors: those of [Store.Draw], CodeNotFound for a pool without receipts,
// CodeSeedUnavailable, CodeRulesUnreadable, and CodeOverloaded while the log is still
// being read for the proof. The next call then continues from there.
func (s *Store) DrawReceipt(ctx context.Context, poolID, drawID string) (proof.Receipt, *proof.Inclusion, error) {
	d, err := s.Draw(ctx, poolID, drawID)
	if err != nil {
		return proof.Receipt{}, nil, err
	}
	receipt, err := s.StoredReceipt(ctx, &d)
	if err != nil {
		return receipt, nil, err
	}
	included, err := s.Include(ctx, poolID, &receipt)
	return receipt, included, err
}

// confirm waits until all data that could be read before is as safe as an acknowledged
// commit. Error: CodeStoreUnavailable, because a read cannot be in doubt.
func (s *Store) confirm(ctx context.Context) error {
	if s.engine.Confirm == nil || s.options.ReadOnly {
		return nil
	}
	err := s.engine.Confirm(ctx)
	if s.ledger.Observe(err); err == nil {
		return nil
	}
	return draw.Wrap(draw.CodeStoreUnavailable, err, "the draw was found, but the database does not confirm that it is safe")
}

// Awards returns at most limit awards of a pool with versions greater than after, in
// order. Errors: CodePoolNotFound, and those of the store.
func (s *Store) Awards(ctx context.Context, poolID string, after int64, limit int) (awards []draw.Award, err error) {
	query := ledger.PageAfter(s.ledger.SelectAwards(poolID), after, limit)
	err = s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		if awards, err = ledger.SelectAll(ctx, tx, query, s.ledger.ScanAward); err != nil {
			return err
		}
		return s.ledger.AddRedirectsAt(ctx, tx, poolID, awards)
	})
	return awards, err
}

// Moves returns at most limit stock moves of a pool with versions greater than after, in
// order. Errors: CodePoolNotFound, and those of the store.
func (s *Store) Moves(ctx context.Context, poolID string, after int64, limit int) (moves []draw.Move, err error) {
	query := ledger.PageAfter(s.ledger.SelectMoves(poolID), after, limit)
	err = s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		moves, err = s.ledger.ReadMoves(ctx, tx, poolID, query)
		return err
	})
	return moves, err
}

// Log returns at most limit entries of a pool's history with versions greater than after,
// in order. Awards have their redirects. Errors: CodePoolNotFound, and those of the
// store.
func (s *Store) Log(ctx context.Context, poolID string, after int64, limit int) (entries []draw.Entry, err error) {
	return s.ledger.Page(ctx, poolID, after, limit, true)
}

// Acts is Log without awards.
func (s *Store) Acts(ctx context.Context, poolID string, after int64, limit int) (entries []draw.Entry, err error) {
	return s.ledger.Page(ctx, poolID, after, limit, false)
}

// Changes returns at most limit changes of a pool with versions greater than after, in
// order. Errors: CodePoolNotFound, and those of the store.
func (s *Store) Changes(ctx context.Context, poolID string, after int64, limit int) (changes []draw.Change, err error) {
	query := ledger.PageAfter(s.ledger.SelectChanges(poolID), after, limit)
	err = s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		changes, err = ledger.SelectAll(ctx, tx, query, s.ledger.ScanChange(poolID))
		return err
	})
	return changes, err
}
