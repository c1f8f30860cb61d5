package stock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// inDoubt requires that a request is in doubt if its caller disconnects while the commit
// waits. On a busy machine the request may not have reached its commit by then, so
// inDoubt tries again with more time.
func inDoubt(t *testing.T, ask func(context.Context) error) {
	t.Helper()
	for limit := time.Second; ; limit *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err := ask(ctx)
		cancel()
		if stock.ClassOf(err) == stock.ClassUnknown || draw.CodeOf(err) == draw.CodeOutcomeUnknown {
			return
		}
		require.True(t, stock.ClassOf(err) == stock.ClassUnavailable || draw.CodeOf(err) == draw.CodeStoreUnavailable, "%v", err)
		require.Less(t, limit, waitMax, "%v", err)
	}
}

// TestUnreplicatedIsNotAcknowledged: if a commit's wait for its standby was interrupted,
// the commit can be read, but it is neither reported as done nor as found.
func TestUnreplicatedIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "postgres")
	s := stocktest.Open(t, server.URL(), stock.Options{})
	stocktest.Pool(t, s, "p", 10)
	standbys := func(names string) {
		stocktest.ExecAll(t, s, []string{`ALTER SYSTEM SET synchronous_standby_names = '` + names + `'`, `SELECT pg_reload_conf()`})
		require.Eventually(t, func() bool {
			var now string
			require.NoError(t, s.LockDB().QueryRowContext(t.Context(), `SHOW synchronous_standby_names`).Scan(&now))
			return now == names
		}, waitMax, tick)
	}
	ways := map[string]stock.TxOptions{"d1": {Lock: true}, "d2": {}}
	try := func(ctx context.Context, o stock.TxOptions, p *urn.Plan) error {
		urn := urn.NewUrn("p")
		tx, err := s.Read(t.Context(), urn, o)
		require.NoError(t, err)
		defer tx.Rollback()
		_, err = tx.Draws(t.Context(), "p", []string{"d1", "d2"})
		require.NoError(t, err)
		return tx.Write(ctx, stocktest.On(urn, p))
	}
	found := func() int64 { return stocktest.NoViolations(t, s, "p").Prizes[0].Awards }

	standbys("nobody")
	inDoubt(t, func(ctx context.Context) error { return try(ctx, ways["d1"], stocktest.Plan("p", 2, "a", 0, "d1")) }) // the caller disconnects
	require.Eventually(t, func() bool { return found() == 1 }, waitMax, tick)
	done := make(chan error, 1)
	go func() { done <- try(t.Context(), ways["d2"], stocktest.Plan("p", 3, "a", 1, "d2")) }()
	require.Eventually(t, func() bool {
		stocktest.ExecAll(t, s, []string{`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`})
		return found() == 2
	}, waitMax, tick)
	require.Equal(t, stock.ClassUnknown, stock.ClassOf(<-done), "an operator breaks it off")

	nothing := &urn.Plan{PoolID: "p"}
	for id, o := range ways {
		inDoubt(t, func(ctx context.Context) error { return try(ctx, o, nothing) })
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Draw(short, "p", id)
		require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
	}
	for range 2 { // the second time, the draw exists already
		inDoubt(t, func(ctx context.Context) error {
			_, err := s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 5, Reason: "more", Key: "key"}, "test")
			return err
		})
	}
	standbys("")
	for id, o := range ways {
		require.NoError(t, try(t.Context(), o, nothing))
		_, err := s.Draw(t.Context(), "p", id)
		require.NoError(t, err)
	}
}

// TestUrnOfAnotherHistory: after a failover that lost writes, a pool may be at the
// version of an urn but in another state.
func TestUrnOfAnotherHistory(t *testing.T) {
	t.Parallel()
	primary := servertest.Start(t, "postgres")
	link := servertest.StartProxy(t, primary.Addr())
	standby := servertest.StartStandby(t, primary, link.Addr(), "standby")
	several := strings.Replace(primary.URL(), primary.Addr(), primary.Addr()+","+standby.Addr(), 1)
	s := stocktest.Open(t, several, stock.Options{})
	stocktest.Pool(t, s, "p", 10)
	read, err := stock.Open(t.Context(), standby.URL(), stock.Options{ReadOnly: true})
	require.NoError(t, err)
	defer read.Close()
	require.Eventually(t, func() bool { _, err := read.Pool(t.Context(), "p"); return err == nil }, waitMax, tick, "the standby follows")
	link.Hold()
	require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("p", 2, "a", 0, "lost")))
	urn := urn.NewUrn("p")
	tx, err := s.Read(t.Context(), urn, stock.TxOptions{})
	require.NoError(t, err)
	tx.Rollback()
	require.Equal(t, int64(3), urn.Version)

	primary.Kill()
	link.Cut()
	stocktest.ExecAll(t, read, []string{`SELECT pg_promote()`})
	other := stocktest.Open(t, standby.URL(), stock.Options{})
	_, err = other.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 5, Reason: "kept"}, "test")
	require.NoError(t, err)

	require.Eventually(t, func() bool {
		tx, err := s.Read(t.Context(), urn, stock.TxOptions{})
		if err != nil {
			require.NotEqual(t, stock.ClassOther, stock.ClassOf(err), err)
			return false
		}
		tx.Rollback()
		return true
	}, waitMax, tick)
	require.Equal(t, int64(3), urn.Version, "as before")
	require.Equal(t, int64(15), urn.Remaining(), "and yet another")
}

// TestChangesWaitForTheStandby: if a change's wait for its standby was interrupted, the
// change is not acknowledged. The same holds for draws.
func TestChangesWaitForTheStandby(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "postgres")
	s := stocktest.Open(t, server.URL(), stock.Options{})
	stocktest.Pool(t, s, "p", 10)
	stocktest.ExecAll(t, s, []string{`ALTER SYSTEM SET synchronous_standby_names = 'nobody'`, `SELECT pg_reload_conf()`})
	require.Eventually(t, func() bool {
		var now string
		require.NoError(t, s.LockDB().QueryRowContext(t.Context(), `SHOW synchronous_standby_names`).Scan(&now))
		return now == "nobody"
	}, waitMax, tick)
	paused := draw.StatePaused
	for name, change := range map[string]func() error{
		"stock": func() error {
			_, err := s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 5, Reason: "more"}, "test")
			return err
		},
		"pool": func() error {
			_, err := s.ChangePool(t.Context(), "p", draw.PoolChange{State: &paused}, "test")
			return err
		},
		"prize": func() error {
			_, err := s.AddPrize(t.Context(), "p", draw.Prize{ID: "z", Name: "z", Stocked: 1}, "test")
			return err
		},
		"create": func() error { _, err := s.CreatePool(t.Context(), draw.Pool{ID: "q", Name: "q"}, "test"); return err },
		"import": func() error {
			_, err := s.Import(t.Context(), draw.Import{PoolID: "p", Reason: "x", Actor: "test"}, strings.NewReader("prize,name,value,stock\nx,X,1,1\n"), nil)
			return err
		},
	} {
		done := make(chan error, 1)
		go func() { done <- change() }()
		var err error
		require.Eventually(t, func() bool {
			stocktest.ExecAll(t, s, []string{`SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`})
			select {
			case err = <-done:
				return true
			default:
				return false
			}
		}, waitMax, tick, name)
		require.Equal(t, draw.CodeOutcomeUnknown, draw.CodeOf(err), "%s: %v", name, err)
	}
}

// TestRefusalsComeFromAServerThatCanWrite: a row that is missing on a lagging standby, or
// on a read-only server, may exist on another server. So no request is refused because of
// it.
func TestRefusalsComeFromAServerThatCanWrite(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) (fresh, old *stock.Store){
		"standby": laggingStandby, "read-only postgres": readOnlyPostgres, "read-only mysql": readOnlyMySQL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh, old := start(t)
			ways := map[string]stock.TxOptions{"unlocked": {}, "fenced": {Fence: stock.Fence{Lock: "l", Token: 1}}, "locked": {Lock: true}}
			for way, o := range ways {
				for _, pool := range []string{"p", "absent"} {
					_, err := old.Read(t.Context(), urn.NewUrn(pool), o)
					require.Equal(t, stock.ClassUnavailable, stock.ClassOf(err), "%s, %s: %v", way, pool, err)
				}
			}
			for _, pool := range []string{"p", "absent"} {
				_, err := old.Draw(t.Context(), pool, "k")
				require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err), "%v", err)
			}
			_, err := old.Pool(t.Context(), "absent")
			require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err), "%v", err)
			_, err = fresh.Draw(t.Context(), "p", "k")
			require.Equal(t, draw.CodeDrawNotFound, draw.CodeOf(err), "%v", err)
		})
	}
}

// TestChangesGoToAServerThatCanWrite: a standby or a read-only server neither refuses nor
// makes a change, even if the account has the right to write.
func TestChangesGoToAServerThatCanWrite(t *testing.T) {
	t.Parallel()
	paused := draw.StatePaused
	for name, start := range map[string]func(t *testing.T) (fresh, old *stock.Store){
		"standby": laggingStandby, "read-only postgres": readOnlyPostgres, "read-only mysql": readOnlyMySQL,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, old := start(t)
			for what, change := range map[string]func() error{
				"no pool to change": func() error {
					_, err := old.ChangePool(t.Context(), "absent", draw.PoolChange{State: &paused}, "test")
					return err
				},
				"no pool to stock":   func() error { _, err := old.Stock(t.Context(), units("absent", "a", 1), "test"); return err },
				"no prize":           func() error { _, err := old.Stock(t.Context(), units("p", "absent", 1), "test"); return err },
				"stock below issued": func() error { _, err := old.Stock(t.Context(), units("p", "a", -100), "test"); return err },
				"prize exists": func() error {
					_, err := old.AddPrize(t.Context(), "p", draw.Prize{ID: "a", Name: "a", Stocked: 1}, "test")
					return err
				},
				"pool exists": func() error { _, err := old.CreatePool(t.Context(), draw.Pool{ID: "p", Name: "p"}, "test"); return err },
				"stock":       func() error { _, err := old.Stock(t.Context(), units("p", "a", 1), "test"); return err },
			} {
				require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(change()), what)
			}
		})
	}
}

func units(pool, prize string, delta int64) draw.Stocking {
	return draw.Stocking{PoolID: pool, PrizeID: prize, Delta: delta, Reason: "more"}
}

// laggingStandby returns a primary, and a standby that no longer receives its changes.
func laggingStandby(t *testing.T) (fresh, old *stock.Store) {
	primary := servertest.Start(t, "postgres")
	standby := servertest.StartStandby(t, primary, primary.Addr(), "standby")
	fresh = stocktest.Open(t, primary.URL(), stock.Options{})
	stocktest.Pool(t, fresh, "p", 1)
	require.NoError(t, stocktest.Write(t, fresh, stock.TxOptions{}, stocktest.Plan("p", 2, "a", 0, "d1")))
	old, err := stock.Open(t.Context(), standby.URL(), stock.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, old.Close()) })
	require.Eventually(t, func() bool { _, err := old.Pool(t.Context(), "p"); return err == nil }, waitMax, tick)
	stocktest.ExecAll(t, old, []string{`SELECT pg_wal_replay_pause()`})
	_, err = fresh.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 10, Reason: "more"}, "test")
	require.NoError(t, err)
	return fresh, old
}

func readOnlyPostgres(t *testing.T) (fresh, old *stock.Store) {
	server := servertest.Start(t, "postgres")
	fresh = stocktest.Open(t, server.URL(), stock.Options{})
	stocktest.Pool(t, fresh, "p", 1)
	old, err := stock.Open(t.Context(), server.URL()+"&default_transaction_read_only=on", stock.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, old.Close()) })
	return fresh, old
}

// readOnlyMySQL returns a server and a second, read-only server. The second one is not
// a replica and has no pools.
func readOnlyMySQL(t *testing.T) (fresh, old *stock.Store) {
	fresh = stocktest.New(t, "mysql")
	stocktest.Pool(t, fresh, "p", 1)
	old = stocktest.Open(t, servertest.Start(t, "mysql").URL(), stock.Options{})
	stocktest.Pool(t, old, "p", 1)
	stocktest.ExecAll(t, old, []string{`SET GLOBAL read_only = 1`})
	return fresh, old
}
