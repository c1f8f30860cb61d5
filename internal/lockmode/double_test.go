package lockmode_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/group"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
)

// The doubles in this file are broken on purpose. Each has a defect that real services
// have had. The tests show that the assertions of the matrix detect the defects, and
// that they accept correct behaviour in the same circumstances.

// onRows runs fn in a separate transaction on the rows of an SQLite store, bypassing
// package stock.
func onRows(ctx context.Context, db *sql.DB, fn func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// nextVersion raises a pool's version without a check.
func nextVersion(ctx context.Context, tx *sql.Tx, poolID string) (version int64, err error) {
	err = tx.QueryRowContext(ctx, `UPDATE pools SET version = version + 1 WHERE id = ? RETURNING version`, poolID).Scan(&version)
	return version, err
}

func insertAward(ctx context.Context, tx *sql.Tx, poolID string, version int64, a draw.Award) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO awards (pool_id, version, draw_id, ordinal, user_id, prize_id, unit, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, poolID, version, a.DrawID, a.Ordinal, a.UserID, a.PrizeID, a.Unit,
		time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"))
	return err
}

// blindly writes a plan even if the pool has changed since the plan was made.
func blindly(db *sql.DB) apply {
	return func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
		tx.Rollback()
		return onRows(ctx, db, func(tx *sql.Tx) error {
			for _, a := range p.Awards {
				version, err := nextVersion(ctx, tx, p.PoolID)
				if err != nil {
					return err
				}
				if _, err := tx.ExecContext(ctx, `UPDATE prizes SET issued = issued + 1, changed = ? WHERE pool_id = ? AND id = ?`,
					version, p.PoolID, a.PrizeID); err != nil {
					return err
				}
				if err := insertAward(ctx, tx, p.PoolID, version, a); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// perPrize guards each prize's row by that row's own count. If a draw loses the race for
// a row, it picks again. This violates law 3: every unit that it gives exists, and no
// unit is given twice, but the odds are wrong.
func perPrize(db *sql.DB) apply {
	return func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
		tx.Rollback()
		err := onRows(ctx, db, func(tx *sql.Tx) error {
			for _, a := range p.Awards {
				version, err := nextVersion(ctx, tx, p.PoolID)
				if err != nil {
					return err
				}
				result, err := tx.ExecContext(ctx, `UPDATE prizes SET issued = issued + 1, changed = ?
					WHERE pool_id = ? AND id = ? AND issued = ?`, version, p.PoolID, a.PrizeID, a.Unit-1)
				if err != nil {
					return err
				}
				if n, err := result.RowsAffected(); err != nil || n != 1 {
					return stock.ErrConflict
				}
				if err := insertAward(ctx, tx, p.PoolID, version, a); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, stock.ErrConflict) {
			return &stock.Error{Class: stock.ClassUnknown, Reason: "commit", Err: err} // happens on a busy machine
		}
		return err
	}
}

// hasty reports a busy pool as sold out.
type hasty struct{ group.Issuer }

func (h *hasty) Issue(ctx context.Context, b *group.Batch) error {
	err := h.Issuer.Issue(ctx, b)
	if draw.CodeOf(err) == draw.CodeContended {
		return draw.Errorf(draw.CodeSoldOut, "the decrement failed, so there must be nothing left")
	}
	return err
}

func optimisticOnSQLite(t *testing.T) *arena {
	return newArena(t, cell{mode: lockmode.Optimistic, dialect: "sqlite"})
}

// TestFreshCondemnsABlindWrite: with the broken double, held picks are written over those
// of another draw.
func TestFreshCondemnsABlindWrite(t *testing.T) {
	t.Parallel()
	for _, units := range []int64{100, 1} {
		a := optimisticOnSQLite(t)
		stop := newDoor()
		first, second := a.serve(t, 0, applying(stop.then(blindly(a.store(0).LockDB())))), a.serve(t, 1)
		m := meet(t, a, units, first, second, stop)
		require.True(t, m.overtook)
		require.Error(t, m.fresh(units), "%d units", units)
	}
}

// TestSellOutCondemnsABlindWrite: with the broken double the sums may be right, but the
// log is wrong.
func TestSellOutCondemnsABlindWrite(t *testing.T) {
	t.Parallel()
	for name, condemned := range map[string]bool{"blind": true, "guarded": false} {
		a := optimisticOnSQLite(t)
		pool := a.pool(t, 40, 20)
		write := applied
		if condemned {
			write = blindly(a.store(0).LockDB())
		}
		together := &rendezvous{size: instances, patience: 200 * time.Millisecond}
		y := storm{services: a.three(t, oneByOne, applying(together.then(write))), poolID: pool, prefix: "b", asked: 120}.run(t)
		err := errors.Join(y.soldOutExactly(120, 40, 20), y.asLogged(t, a.store(0), pool), audited(t, a.store(0), pool))
		require.Equal(t, condemned, err != nil, "%s: %v", name, err)
	}
}

// TestSellOutCatchesEarlyRefusals: a busy pool must never be reported as sold out.
func TestSellOutCatchesEarlyRefusals(t *testing.T) {
	t.Parallel()
	for name, condemned := range map[string]bool{"hasty": true, "patient": false} {
		a := optimisticOnSQLite(t)
		pool := a.pool(t, 40, 20)
		outrunNowAndThen := applying(inTurn(outrun, applied))
		services := a.three(t, oneByOne, outrunNowAndThen, func(s *settings) { s.OptimisticAttempts = 1 })
		if condemned {
			for i, s := range services {
				s.Batcher = group.NewBatcher(&hasty{s.issuer}, s.seen, group.Limits{BatchMax: 1, QueueMax: 100, Timeout: patience})
				t.Cleanup(func() { drain(t, services[i].Batcher) })
			}
		}
		y := storm{services: services, poolID: pool, prefix: "h", asked: 120}.run(t)
		require.Equal(t, condemned, y.soldOutExactly(120, 40, 20) != nil, "%s: %v", name, y.codes())
		if !condemned {
			require.Positive(t, y.busy[draw.CodeContended], "it was busy, and said so")
		}
		require.NoError(t, audited(t, a.store(0), pool))
	}
}
