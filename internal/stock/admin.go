package stock

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// CreatePool makes a pool with its prizes, whole or not at all, and returns it.
// Each prize's stock is a move of its own, in their order. Errors:
// CodeInvalidRequest, CodePoolExists, and those of the store.
func (s *Store) CreatePool(ctx context.Context, p draw.Pool) (draw.Pool, error) {
	if p.State == "" {
		p.State = draw.StateOpen
	}
	if err := errors.Join(p.Check(), draw.CheckState(p.State)); err != nil {
		return draw.Pool{}, first(err)
	}
	at, head := now(), draw.NewHead()
	err := s.change(ctx, func(tx *sql.Tx) error {
		_, err := s.insertInto("pools").
			Columns("id", "name", "state", "mode", "version", "mark", "created_at").
			Values(p.ID, p.Name, string(p.State), engine.Optional(p.Mode), head.Version, head.Mark, s.engine.Time(at)).
			RunWith(tx).ExecContext(ctx)
		if s.isDuplicate(err) {
			return draw.Errorf(draw.CodePoolExists, "there is a pool %q already", p.ID)
		}
		if err != nil {
			return err
		}
		stockings := make([]stocking, len(p.Prizes))
		for i, prize := range p.Prizes {
			stockings[i] = stocking{prize: prize, delta: prize.Stocked, reason: reasonCreated, isNew: true}
		}
		to, err := s.stockAll(ctx, tx, p.ID, head, at, stockings)
		p.Version = to.Version
		return err
	})
	if err != nil {
		return draw.Pool{}, err
	}
	for i := range p.Prizes {
		p.Prizes[i].Issued = 0
	}
	return p, nil
}

// reasonCreated is the reason of the moves that come with a new prize.
const reasonCreated = "created"

// Pools returns all pools with their prizes, in order of their ids, from one
// snapshot.
func (s *Store) Pools(ctx context.Context) ([]draw.Pool, error) { return s.pools(ctx, nil) }

// Pool returns one pool with its prizes. Error: CodePoolNotFound, and those of
// the store.
func (s *Store) Pool(ctx context.Context, id string) (draw.Pool, error) {
	pools, err := s.pools(ctx, &id)
	if err != nil {
		return draw.Pool{}, err
	}
	return pools[0], nil
}

// pools reads all pools, or the one with the given id.
func (s *Store) pools(ctx context.Context, id *string) (pools []draw.Pool, err error) {
	ofPool := s.selectFrom("pools", "id", "name", "state", "COALESCE(mode, '')", "version").OrderBy("id")
	ofPrize := s.selectFrom("prizes", "pool_id", engine.PrizeColumns).OrderBy("pool_id", "added")
	if id != nil {
		ofPool, ofPrize = ofPool.Where(squirrel.Eq{"id": *id}), ofPrize.Where(squirrel.Eq{"pool_id": *id})
	}
	err = s.snapshot(ctx, func(tx *sql.Tx) error {
		pools, err = selectAll(ctx, tx, ofPool, func(row engine.Scanner) (p draw.Pool, err error) {
			err = row.Scan(&p.ID, &p.Name, &p.State, &p.Mode, &p.Version)
			return p, err
		})
		if err == nil && id != nil && len(pools) == 0 {
			err = s.absent(ctx, tx, engine.PoolNotFound(*id))
		}
		if err != nil {
			return err
		}
		at := make(map[string]*draw.Pool, len(pools))
		for i := range pools {
			at[pools[i].ID] = &pools[i]
		}
		_, err := selectAll(ctx, tx, ofPrize, func(row engine.Scanner) (struct{}, error) {
			var poolID string
			var p draw.Prize
			err := row.Scan(&poolID, &p.ID, &p.Name, &p.Value, &p.Stocked, &p.Issued)
			if pool := at[poolID]; pool != nil {
				pool.Prizes = append(pool.Prizes, p)
			}
			return struct{}{}, err
		})
		return err
	})
	return pools, err
}

// ChangePool changes a pool's name, state or mode and returns the pool. The
// next draw sees it, on every instance. Errors: CodeInvalidRequest,
// CodePoolNotFound, and those of the store.
func (s *Store) ChangePool(ctx context.Context, id string, c draw.PoolChange) (draw.Pool, error) {
	if err := c.Check(); err != nil {
		return draw.Pool{}, err
	}
	err := s.change(ctx, func(tx *sql.Tx) error {
		from, err := s.lockPool(ctx, tx, id)
		if err != nil {
			return err
		}
		update := s.moveHead(id, from, from.Next(0))
		if c.Name != nil {
			update = update.Set("name", *c.Name)
		}
		if c.State != nil {
			update = update.Set("state", string(*c.State))
		}
		if c.Mode != nil {
			update = update.Set("mode", engine.Optional(*c.Mode))
		}
		return execOne(ctx, tx, update)
	})
	if err != nil {
		return draw.Pool{}, err
	}
	s.options.Changed(id)
	return s.Pool(ctx, id)
}

// lockPool locks the pool's row until the transaction ends and returns its
// head.
func (s *Store) lockPool(ctx context.Context, tx *sql.Tx, id string) (head draw.Head, err error) {
	var trail []byte
	err = s.selectFrom("pools", "version", "mark", "trail").Where(squirrel.Eq{"id": id}).Suffix(s.engine.ForUpdate).
		RunWith(tx).QueryRowContext(ctx).Scan(&head.Version, &head.Mark, &trail)
	if errors.Is(err, sql.ErrNoRows) {
		return head, engine.PoolNotFound(id)
	}
	head.Trail = draw.Trail(trail)
	return head, err
}

// moveHead is an update of a pool's row that moves its head on.
func (s *Store) moveHead(poolID string, from, to draw.Head) squirrel.UpdateBuilder {
	return s.builder().Update("pools").
		Set("version", to.Version).Set("mark", to.Mark).Set("trail", []byte(to.Trail)).
		Where(squirrel.Eq{"id": poolID, "version": from.Version, "mark": from.Mark})
}

// execOne runs an update that must change one row.
func execOne(ctx context.Context, tx *sql.Tx, update squirrel.UpdateBuilder) error {
	result, err := update.RunWith(tx).ExecContext(ctx)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(ErrConflict, err)
	}
	return nil
}

// now is the time, as exact as the databases keep it.
func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// first returns the first of joined errors.
func first(err error) error {
	if e, ok := errors.AsType[*draw.Error](err); ok {
		return e
	}
	return err
}
