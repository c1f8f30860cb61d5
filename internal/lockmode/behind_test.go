package lockmode_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestReplaysBehindDoubt: known keys wait for a batch that ends in doubt. They are
// answered while another session holds the pool's row, even if their time is too short to
// wait for the row.
func TestReplaysBehindDoubt(t *testing.T) {
	for _, c := range []cell{
		{mode: lockmode.ForUpdate, dialect: "postgres"}, {mode: lockmode.Optimistic, dialect: "postgres"},
		{mode: lockmode.ForUpdate, dialect: "mysql"}, {lockmode.External, "mysql", nobody},
	} {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			a := newArena(t, c)
			pool := a.pool(t, 100)
			held, queued := make(chan func(), 1), make(chan struct{})
			missing := &failedReads{err: draw.Errorf(draw.CodePoolNotFound, "there is no pool")} // a batch that gets this error is given up at once
			var once sync.Once
			cut := func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
				if len(p.Awards) == 0 || p.Awards[0].DrawID != "in doubt" {
					return tx.Write(ctx, p)
				}
				err := commitLost(ctx, tx, p)
				once.Do(func() {
					held <- heldPool(t, a, pool)
					<-queued
					missing.left.Store(1)
				})
				return err
			}
			patient := stocktest.Open(t, a.url, stock.Options{LockWait: 5 * time.Second})
			s := a.serve(t, 0, func(s *settings) {
				missing.Store, s.Store = patient, missing
				s.Settle, s.Timeout = patience/2, 4*time.Second // a lookup may take a part of Settle
			}, applying(cut))
			draws(t, s, pool, "known", 5)
			unknown := make(chan error, 1)
			go func() {
				_, err := s.Draw(context.Background(), named(pool, "in doubt"))
				unknown <- err
			}()
			clear := receive(t, held)
			defer clear()
			known := make(chan error, 5)
			for n := range cap(known) {
				go func() {
					_, err := s.Draw(context.Background(), named(pool, fmt.Sprint("known-", n)))
					known <- err
				}()
			}
			waitingOn(t, s, 1+cap(known))
			close(queued)
			for range cap(known) {
				require.NoError(t, receive(t, known))
			}
			require.Equal(t, draw.CodeOutcomeUnknown, draw.CodeOf(receive(t, unknown)))
		})
	}
}

// heldPool makes a session hold the pool's row.
func heldPool(t *testing.T, a *arena, pool string) (clear func()) {
	tx, err := a.store(1).LockDB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), fmt.Sprintf(`SELECT version FROM pools WHERE id = '%s' FOR UPDATE`, pool))
	require.NoError(t, err)
	return func() { require.NoError(t, tx.Rollback()) }
}
