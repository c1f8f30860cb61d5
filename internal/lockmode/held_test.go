package lockmode_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// obstacle makes writes of one prize of the pool fail. clear removes it.
type obstacle func(t *testing.T, a *arena, pool, prize string) (clear func())

// heldRow makes a session hold the prize's row.
func heldRow(t *testing.T, a *arena, pool, prize string) (clear func()) {
	t.Helper()
	tx, err := a.store(1).LockDB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	query := fmt.Sprintf(`SELECT stocked FROM prizes WHERE pool_id = '%s' AND id = '%s' FOR UPDATE`, pool, prize)
	var stocked int64
	require.NoError(t, tx.QueryRowContext(t.Context(), query).Scan(&stocked))
	return func() { require.NoError(t, tx.Rollback()) }
}

// rule adds a constraint to the database that only one prize of one pool violates.
func rule(t *testing.T, a *arena, pool, prize string) (clear func()) {
	t.Helper()
	name := "rule_" + pool[len("pool-"):]
	broken := fmt.Sprintf(`pool_id = '%s' AND id = '%s'`, pool, prize)
	add := fmt.Sprintf(`ALTER TABLE prizes ADD CONSTRAINT %s CHECK (NOT (%s AND issued > %d))`, name, broken, issuedOf(t, a, pool, prize))
	drop := `ALTER TABLE prizes DROP CONSTRAINT ` + name
	if a.dialect == "sqlite" {
		add = fmt.Sprintf(`CREATE TRIGGER %s BEFORE UPDATE ON prizes WHEN new.pool_id = '%s' AND new.id = '%s'
			BEGIN SELECT RAISE(ABORT, 'a rule'); END`, name, pool, prize)
		drop = `DROP TRIGGER ` + name
	}
	run(t, a.store(0).LockDB(), add)
	return func() { run(t, a.store(0).LockDB(), drop) }
}

func run(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query)
	require.NoError(t, err)
}

func issuedOf(t *testing.T, a *arena, pool, prize string) int64 {
	t.Helper()
	p, err := a.store(0).Pool(t.Context(), pool)
	require.NoError(t, err)
	for _, z := range p.Prizes {
		if z.ID == prize {
			return z.Issued
		}
	}
	require.FailNow(t, "no such prize")
	return 0
}

// picksOf returns an error unless a pool keeps its picks while its prize a cannot be
// written. The pool must stop at the version that takes a, and that version must take a
// once the obstacle is cleared.
func picksOf(t *testing.T, a *arena, s *service, o obstacle, round int) error {
	t.Helper()
	pool := a.pool(t, 1000, 1000)
	clear := o(t, a, pool, "a")
	ended := false
	defer func() {
		if !ended {
			clear()
		}
	}()
	stuck := ""
	for n := 0; stuck == ""; n++ {
		if n == 64 { // a's turn comes within 64 draws, except with probability 2^-64
			return fmt.Errorf("round %d: 64 draws in a row went to the other prize", round)
		}
		id := fmt.Sprint("d", n)
		if d, err := s.Draw(t.Context(), named(pool, id)); err != nil {
			stuck = id
		} else if d.Awards[0].PrizeID == "a" {
			return fmt.Errorf("round %d: the obstacle is none", round)
		}
	}
	for n := range 2 {
		if _, err := s.Draw(t.Context(), named(pool, fmt.Sprint("later", n))); err == nil {
			return fmt.Errorf("round %d: a draw went past the one that is stuck", round)
		}
	}
	clear()
	ended = true
	d, err := s.Draw(t.Context(), named(pool, "first"))
	if err != nil {
		return err
	}
	if d.Awards[0].PrizeID != "a" {
		return fmt.Errorf("round %d: another prize was picked after the failure", round)
	}
	return audited(t, a.store(0), pool)
}

// soon makes a service give up after a moment, so that a pool that stops is detected.
func soon(s *settings) {
	s.Budget, s.OptimisticBudget, s.OptimisticAttempts, s.Settle = 30*time.Millisecond, 30*time.Millisecond, 3, patience
}

// heldRounds is how often picks are compared. In each round, a service that picks again
// goes undetected with probability 2^-64.
const heldRounds = 2

func obstacles(dialect string) map[string]obstacle {
	if dialect == "sqlite" { // SQLite has no row locks
		return map[string]obstacle{"a rule of the schema": rule}
	}
	return map[string]obstacle{"a held row": heldRow, "a rule of the schema": rule}
}

// TestFailedWritesDoNotChangePicks: a pick stays the same, whether it can be written or
// not (law 3).
func TestFailedWritesDoNotChangePicks(t *testing.T) {
	t.Parallel()
	for _, c := range cells() {
		if c.lock != "" && c.lock != "table" {
			continue // the lock does not affect picks
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			a := newArena(t, c)
			for name, o := range obstacles(c.dialect) {
				for round := range heldRounds {
					require.NoError(t, picksOf(t, a, a.serve(t, 0, soon), o, round), name)
				}
			}
		})
	}
}

// forgetful makes a new urn for each attempt, so that it picks again.
type forgetful struct{ lockmode.Store }

func (f *forgetful) Read(ctx context.Context, u *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	*u = *urn.NewUrn(u.PoolID)
	return f.Store.Read(ctx, u, o)
}

// TestPicksCondemnsPickingAgain: a service that picks again after a failure is
// detected, whatever made the write fail.
func TestPicksCondemnsPickingAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []cell{{mode: lockmode.ForUpdate, dialect: "postgres"}, {mode: lockmode.Optimistic, dialect: "sqlite"}} {
		a := newArena(t, c)
		for name, o := range obstacles(c.dialect) {
			again := func(s *settings) { s.Store = &forgetful{s.Store}; s.Budget = 2 * time.Second }
			caught := false
			for round := 0; round < 20 && !caught; round++ {
				caught = picksOf(t, a, a.serve(t, 0, soon, again), o, round) != nil
			}
			require.True(t, caught, "%s, %s", c, name)
		}
	}
}

// picksBesideDeadlocks makes draws in sequence, until the given number of them were
// victims of deadlocks over prize a. Draws that pick the other prize have no deadlock, so
// each victim must take a in the end. An error names a draw that did not take it.
func picksBesideDeadlocks(t *testing.T, victims int, edits ...edit) error {
	t.Helper()
	c := cell{mode: lockmode.ForUpdate, dialect: "postgres"}
	url := stocktest.Migrated(t, c.dialect)
	// The service's session notices a deadlock first, so it becomes the victim.
	a := newArenaOn(t, c, url+"&deadlock_timeout=5ms")
	s := a.serve(t, 0, edits...)
	pool := a.pool(t, 1000, 1000)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { defer close(stopped); deadlocks(t, a, pool, stop) }()
	defer func() { close(stop); receive(t, stopped) }()
	met := func() (n int) {
		s.seen.in(func() { n = s.seen.retries["deadlock"] })
		return n
	}
	for n := 0; victims > 0; n++ {
		before := met()
		d := receive(t, ask(t, s, named(pool, fmt.Sprint("d", n))))
		require.NoError(t, d.err)
		if met() == before {
			continue
		}
		victims--
		if got := d.draw.Awards[0].PrizeID; got != "a" {
			return fmt.Errorf("draw %d met a deadlock over a and took %s", n, got)
		}
	}
	return audited(t, a.store(0), pool)
}

// TestDeadlocksDoNotChangePicks: all draws that are victims of deadlocks over one prize
// take the same unit in the end. A service that picks a second time is detected, except
// with probability 2^-40.
func TestDeadlocksDoNotChangePicks(t *testing.T) {
	t.Parallel()
	require.NoError(t, picksBesideDeadlocks(t, 10))
	require.ErrorContains(t, picksBesideDeadlocks(t, 40, func(s *settings) { s.Store = &forgetful{s.Store} }), "and took b")
}

// deadlocks repeatedly takes the row of prize a and then that of the pool, in the
// opposite order to draws.
func deadlocks(t *testing.T, a *arena, pool string, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		tx, err := a.store(1).LockDB().BeginTx(context.Background(), nil)
		if err != nil {
			t.Error(err)
			return
		}
		for _, query := range []string{
			`SET LOCAL deadlock_timeout = '60s'`,
			fmt.Sprintf(`SELECT id FROM prizes WHERE pool_id = '%s' AND id = 'a' FOR UPDATE`, pool), `SELECT pg_sleep(0.002)`,
			fmt.Sprintf(`SELECT id FROM pools WHERE id = '%s' FOR UPDATE`, pool),
		} {
			if _, err := tx.ExecContext(context.Background(), query); err != nil {
				t.Error(err)
			}
		}
		_ = tx.Rollback()
	}
}
