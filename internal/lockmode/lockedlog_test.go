package lockmode_test

import (
	"context"
	"fmt"
	"slices"
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

// lockedLog makes a session lock the awards against everybody else, as maintenance of
// their table does.
func lockedLog(t *testing.T, a *arena) (clear func()) {
	t.Helper()
	conn, err := a.store(1).LockDB().Conn(t.Context())
	require.NoError(t, err)
	lock, unlock := []string{`LOCK TABLES awards WRITE`}, `UNLOCK TABLES`
	if a.dialect == "postgres" {
		lock, unlock = []string{`BEGIN`, `LOCK TABLE awards IN ACCESS EXCLUSIVE MODE`}, `ROLLBACK`
	}
	for _, query := range lock {
		_, err := conn.ExecContext(t.Context(), query)
		require.NoError(t, err)
	}
	return func() {
		_, err := conn.ExecContext(context.Background(), unlock)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
}

// TestTheLogCannotBeAsked: another session locks the whole log. The answer to a known key
// is then "in doubt" or "database unavailable", and never "busy".
func TestTheLogCannotBeAsked(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} {
		for _, c := range []cell{
			{mode: lockmode.ForUpdate, dialect: dialect}, {mode: lockmode.Optimistic, dialect: dialect}, {lockmode.External, dialect, nobody},
		} {
			t.Run(c.String(), func(t *testing.T) {
				t.Parallel()
				testLockedLog(t, newArena(t, c))
			})
		}
	}
}

func testLockedLog(t *testing.T, a *arena) {
	short := func(s *settings) { s.Budget, s.Settle, s.Timeout = 1500*time.Millisecond, 3*time.Second, 4*time.Second }
	testKnownInDoubt(t, a, short, lockedLog, draw.CodeOutcomeUnknown, draw.CodeStoreUnavailable)
}

// asked is a store that records which draws were looked up in its log.
type asked struct {
	lockmode.Store
	mu  sync.Mutex
	ids []string
}

type askedTx struct {
	stock.Tx
	of *asked
}

func (s *asked) Read(ctx context.Context, urn *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	tx, err := s.Store.Read(ctx, urn, o)
	if err != nil {
		return nil, err
	}
	return &askedTx{tx, s}, nil
}

func (tx *askedTx) Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error) {
	tx.of.mu.Lock()
	tx.of.ids = append(tx.of.ids, ids...)
	tx.of.mu.Unlock()
	return tx.Tx.Draws(ctx, poolID, ids)
}

// has reports whether a draw was looked up in the log.
func (s *asked) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.ids, id)
}

// testKnownInDoubt: while something is held, known keys get one of the codes, and once it
// is free they are replayed. On a busy machine, the log may not be read in time for a
// key, and the key is withdrawn. Then the keys get more time.
func testKnownInDoubt(t *testing.T, a *arena, short edit, hold func(*testing.T, *arena) (clear func()), codes ...draw.Code) {
	t.Helper()
	for more := time.Duration(1); !knownInDoubt(t, a, short, more, hold, codes); more *= 2 {
		require.Less(t, more, time.Duration(moreMax), "the log was not asked for a known key")
	}
}

// knownInDoubt reports whether every draw that was withdrawn had been looked up in the
// log.
func knownInDoubt(t *testing.T, a *arena, short edit, more time.Duration, hold func(*testing.T, *arena) (clear func()), codes []draw.Code) bool {
	t.Helper()
	pool, log := a.pool(t, 50), &asked{}
	s := a.serve(t, 0, short, func(s *settings) {
		s.Budget, s.OptimisticBudget, s.Settle, s.Timeout = more*s.Budget, more*s.OptimisticBudget, more*s.Settle, more*s.Timeout
		log.Store, s.Store = s.Store, log
	})
	for n := range 3 {
		require.NoError(t, receive(t, ask(t, s, named(pool, fmt.Sprint("known-", n)))).err)
	}
	log.ids = nil
	clear := hold(t, a)
	known := map[string]<-chan answer{}
	for n := range 3 {
		id := fmt.Sprint("known-", n)
		known[id] = once(t, s, named(pool, id))
	}
	all := true
	for id, from := range known {
		err := receive(t, from).err
		if draw.CodeOf(err) == draw.CodeContended && !log.has(id) {
			all = false
			continue
		}
		require.Contains(t, codes, draw.CodeOf(err), "%v", err)
	}
	drain(t, s.Batcher)
	clear()
	d, err := a.serve(t, 0).Draw(context.Background(), named(pool, "known-1"))
	require.NoError(t, err)
	require.True(t, d.Replayed)
	stocktest.NoViolations(t, a.store(0), pool)
	return all
}
