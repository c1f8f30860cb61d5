package lockmode_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
)

// countingThenInserting writes as the double blindly does, and then the turns of the
// plan. The user's turns were counted before the write, so it ignores turns that others
// have inserted since.
func countingThenInserting(db *sql.DB) apply {
	write := blindly(db)
	return func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
		if err := write(ctx, tx, p); err != nil {
			return err
		}
		return onRows(ctx, db, func(tx *sql.Tx) error {
			for _, turn := range p.Turns {
				if _, err := tx.ExecContext(ctx, `INSERT INTO turns (pool_id, user_id, what, seq, version, run, at)
					SELECT ?1, ?2, ?3, COALESCE(MAX(seq), 0) + 1, ?4, 0, ?5 FROM turns WHERE pool_id = ?1 AND user_id = ?2 AND what = ?3`,
					p.PoolID, turn.Subject, string(turn.Counted), turn.Version, p.At.UTC().Format("2006-01-02T15:04:05.000000Z")); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// TestLimitCondemnsCountingThenInserting: the double is detected by concurrent draws of
// one user under a limit of one.
func TestLimitCondemnsCountingThenInserting(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	for name, condemned := range map[string]bool{"counting, then inserting": true, "guarded": false} {
		a := optimisticOnSQLite(t)
		pool := a.ruled(t, 50, 50, `{"fallback":"none","limits":[{"of":"draws","max":1}]}`)
		write := applied
		if condemned {
			write = countingThenInserting(a.store(0).LockDB())
		}
		together := &rendezvous{size: instances, patience: 2 * time.Second}
		services := a.three(t, oneByOne, applying(together.then(write)))
		var answers []<-chan answer
		for i := range 60 {
			answers = append(answers, ask(t, services[i%instances], named(pool, fmt.Sprint("limit-", i))))
		}
		granted := 0
		for _, from := range answers {
			got := receive(t, from)
			if got.err == nil {
				granted++
				continue
			}
			require.Contains(t, []draw.Code{draw.CodeLimitReached, draw.CodeContended}, draw.CodeOf(got.err), "%s: %v", name, got.err)
		}
		require.Equal(t, condemned, granted > 1, "%s: %d granted", name, granted)
		require.Len(t, awardsOf(t, a.store(0), pool), granted)
		audit, err := a.store(0).AuditDeep(t.Context(), pool)
		require.NoError(t, err)
		require.Equal(t, condemned, audit.Found > 0, "%s: %v", name, audit.Violations)
	}
}

// forgettingNoWins reports success, but does not write draws that did not win.
func forgettingNoWins(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
	if !p.Awards[0].Win() {
		tx.Rollback()
		return nil
	}
	return applied(ctx, tx, p)
}

// TestNoWinsCondemnForgetting: the broken double does not record losing draws, so a user
// may repeat a draw until it wins.
func TestNoWinsCondemnForgetting(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]apply{"forgetting": forgettingNoWins, "recorded": applied} {
		a := optimisticOnSQLite(t)
		pool := a.ruled(t, 50, 50, `{"fallback":"none","win":"1/10"}`)
		err := noWinsOf(t, pool, a.three(t, oneByOne, applying(write)))
		require.Equal(t, name == "forgetting", err != nil, "%s: %v", name, err)
	}
}
