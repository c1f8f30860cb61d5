package stock

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// stocking is one move to make: of a prize that is there, or with a new one.
type stocking struct {
	prize  draw.Prize // its counts are those before the move
	delta  int64
	reason string
	key    string
	isNew  bool
}

// AddPrize adds a prize to a pool and returns it. Errors: CodeInvalidRequest,
// CodePoolNotFound, CodePrizeExists, CodePoolClosed, CodePoolOpen for an open pool
// with a beacon, and those of the store.
func (s *Store) AddPrize(ctx context.Context, poolID string, p draw.Prize, actor string) (draw.Prize, error) {
	if err := errors.Join(p.Check(), draw.CheckActor(actor)); err != nil {
		return draw.Prize{}, first(err)
	}
	p.Issued = 0
	err := s.change(ctx, func(tx *sql.Tx) error {
		of, err := s.lockPool(ctx, tx, poolID, actor)
		if err != nil {
			return err
		}
		if _, err := s.prize(ctx, tx, poolID, p.ID); draw.CodeOf(err) != draw.CodePrizeNotFound {
			return errors.Join(err, draw.Errorf(draw.CodePrizeExists, "pool %q has a prize %q already", poolID, p.ID))
		}
		if err := s.checkRoom(ctx, tx, poolID); err != nil {
			return err
		}
		return s.stockAll(ctx, tx, of, []stocking{{prize: p, delta: p.Stocked, reason: reasonCreated, isNew: true}})
	})
	if err != nil {
		return draw.Prize{}, err
	}
	s.options.Changed(poolID)
	return p, nil
}

// checkRoom says whether a pool may hold one prize more.
func (s *Store) checkRoom(ctx context.Context, tx *sql.Tx, poolID string) error {
	found, err := selectAll(ctx, tx, s.selectFrom("prizes", "COUNT(*)").Where(squirrel.Eq{"pool_id": poolID}), scanInt)
	if err == nil && found[0] >= draw.PrizesMax {
		return draw.Errorf(draw.CodeInvalidRequest, "pool %q holds %d prizes, which is the most that a pool may hold", poolID, found[0])
	}
	return err
}

// Stock changes one prize's stock and returns the move. With a key it happens
// once: the same key again is answered with the first move. Errors:
// CodeInvalidRequest, CodePoolNotFound, CodePrizeNotFound, CodeStockBelowIssued,
// CodePoolClosed, CodePoolOpen for an open pool with a beacon, CodeKeyReused, and
// those of the store.
func (s *Store) Stock(ctx context.Context, w draw.Stocking, actor string) (draw.Move, error) {
	if err := errors.Join(w.Check(), draw.CheckActor(actor)); err != nil {
		return draw.Move{}, first(err)
	}
	var move draw.Move
	err := s.change(ctx, func(tx *sql.Tx) error {
		of, err := s.lockPool(ctx, tx, w.PoolID, actor)
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
		prize, err := s.prize(ctx, tx, w.PoolID, w.PrizeID)
		if err != nil {
			return err
		}
		if err := errors.Join(of.pool.CheckNotClosed(), w.Admit(&prize), checkDelta(prize, w.Delta)); err != nil {
			return first(err)
		}
		err = s.stockAll(ctx, tx, of, []stocking{{prize: prize, delta: w.Delta, reason: w.Reason, key: w.Key}})
		move = draw.Move{
			Version: of.head.Version, PoolID: w.PoolID, PrizeID: w.PrizeID, Delta: w.Delta, Reason: w.Reason, Actor: actor, Key: w.Key,
			At: of.at, Stocked: prize.Stocked + w.Delta, Issued: prize.Issued,
		}
		return err
	})
	if err != nil {
		return draw.Move{}, err
	}
	s.options.Changed(w.PoolID)
	return move, nil
}

func checkDelta(p draw.Prize, delta int64) error {
	if p.Stocked+delta < p.Issued {
		return draw.Errorf(draw.CodeStockBelowIssued, "prize %q has issued %d of %d units; %d more cannot be withdrawn",
			p.ID, p.Issued, p.Stocked, -delta)
	}
	if p.Stocked+delta > draw.StockMax {
		return draw.Errorf(draw.CodeInvalidRequest, "delta would raise the stock of prize %q above %d", p.ID, draw.StockMax)
	}
	return nil
}

// moveByKey finds the move that was made under w's key, nil when there is none.
func (s *Store) moveByKey(ctx context.Context, tx *sql.Tx, w draw.Stocking) (*draw.Move, error) {
	query := firstFrom(s.selectMoves(w.PoolID), "key_id", w.Key)
	known, err := selectAll(ctx, tx, query, s.scanMove(w.PoolID))
	if err != nil || len(known) == 0 || known[0].Key != w.Key {
		return nil, err
	}
	move := known[0]
	if move.PrizeID != w.PrizeID || move.Delta != w.Delta {
		return nil, draw.Errorf(draw.CodeKeyReused, "the key %q was used for another stock move", w.Key)
	}
	move.Replayed = true
	return &move, nil
}

// prizes reads all prizes of a pool, in the order in which they were added.
func (s *Store) prizes(ctx context.Context, q engine.Querier, poolID string) ([]draw.Prize, error) {
	query := s.selectFrom("prizes", engine.PrizeColumns).Where(squirrel.Eq{"pool_id": poolID}).OrderBy("added")
	return selectAll(ctx, q, query, engine.ScanPrize)
}

func (s *Store) prize(ctx context.Context, tx *sql.Tx, poolID, id string) (draw.Prize, error) {
	query := firstFrom(s.selectFrom("prizes", engine.PrizeColumns).Where(squirrel.Eq{"pool_id": poolID}), "id", id)
	found, err := selectAll(ctx, tx, query, engine.ScanPrize)
	if err == nil && (len(found) == 0 || found[0].ID != id) {
		return draw.Prize{}, draw.Errorf(draw.CodePrizeNotFound, "pool %q has no prize %q", poolID, id)
	}
	if err != nil {
		return draw.Prize{}, err
	}
	return found[0], nil
}

// firstFrom reads the first row from a value of a key's last column on: of the
// keys of a pool, only that one has this order. With an equality, PostgreSQL
// may take another key of the pool, and go through all its rows.
func firstFrom(query squirrel.SelectBuilder, column, value string) squirrel.SelectBuilder {
	return query.Where(squirrel.GtOrEq{column: value}).OrderBy(column).Limit(1)
}

// stockRowsMax is the most rows of one INSERT, below every database's bound on
// parameters.
const stockRowsMax = 500

// stockAll makes moves one after another on a pool whose row is locked.
func (s *Store) stockAll(ctx context.Context, tx *sql.Tx, of *lockedPool, all []stocking) error {
	for n := 0; n < len(all); n += stockRowsMax {
		if err := s.insertStock(ctx, tx, of, n, all[n:min(len(all), n+stockRowsMax)]); err != nil {
			return err
		}
	}
	return s.moved(ctx, tx, of, len(all))
}

// moved notes on the pool's row that n moves were made. It is one update however
// many they are: PostgreSQL checks the foreign key of each new prize, and would
// walk along all former states of the row.
func (s *Store) moved(ctx context.Context, tx *sql.Tx, of *lockedPool, n int) error {
	if n == 0 {
		return nil
	}
	set := map[string]any{}
	if of.round != 0 {
		promise, err := s.promised(ctx, tx, of)
		if err != nil && !isUnreadable(err) {
			return err
		}
		if err != nil || !promise.StockWhileOpen {
			of.unannounce(set)
		}
	}
	to := of.head.Next(n)
	err := execOne(ctx, tx, s.moveHead(of, to).SetMap(set))
	of.head = to
	return err
}

// insertStock makes a part of the moves, behind made others.
func (s *Store) insertStock(ctx context.Context, tx *sql.Tx, of *lockedPool, made int, part []stocking) error {
	if err := s.checkStock(ctx, tx, of); err != nil {
		return err
	}
	poolID, version := of.pool.ID, of.head.Version+int64(made)
	columns := []string{"pool_id", "id", "name", "value", "stocked", "issued", "added", "changed", "kind"}
	added, raised := s.insertInto("prizes").Columns(columns...), s.insertInto("prizes").Columns(columns...).Suffix(s.engine.Restock)
	last := map[string]int{} // of several moves of a prize: PostgreSQL changes a row once
	for i := range part {
		last[part[i].prize.ID] = i
	}
	moves := make([]draw.Move, 0, len(part))
	adds := 0
	for i, m := range part {
		version++
		p, after := m.prize, m.delta
		if m.isNew {
			added = added.Values(poolID, p.ID, p.Name, p.Value.StringFixed(2), after, 0, version, version, string(cmp.Or(p.Kind, draw.KindPrize)))
			adds++
		} else {
			after += p.Stocked
		}
		if !m.isNew && last[p.ID] == i {
			raised = raised.Values(poolID, p.ID, p.Name, p.Value.StringFixed(2), after, p.Issued, version, version, string(p.Kind))
		}
		moves = append(moves, draw.Move{
			Version: version, PrizeID: p.ID, Delta: m.delta, Reason: m.reason, Actor: of.actor, Key: m.key, Stocked: after, Issued: p.Issued,
		})
	}
	if adds > 0 {
		if _, err := added.RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
	}
	if adds < len(part) {
		if _, err := raised.RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
	}
	return appendTo(ctx, tx, s.engine.Dialect, s.moves, poolID, s.engine.Time(of.at), moves)
}
