package stock_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// unflushed is a MariaDB server whose commits stay in memory. Every commit does for a
// moment, before its log is on the disk.
type unflushed struct {
	server *servertest.Server
	store  *stock.Store
}

func newUnflushed(t *testing.T) *unflushed {
	server := servertest.Start(t, "mysql", servertest.Durable(), servertest.Args("--innodb-flush-log-at-timeout=2700"))
	u := &unflushed{server: server, store: stocktest.Open(t, server.URL(), stock.Options{})}
	return u
}

// commit makes a change that is not flushed to the disk. Later commits are flushed.
func (u *unflushed) commit(t *testing.T, change func() error) {
	t.Helper()
	u.flush(t, 0)
	require.NoError(t, change())
	u.flush(t, 1)
}

func (u *unflushed) flush(t *testing.T, how int) {
	stocktest.ExecAll(t, u.store, []string{`SET GLOBAL innodb_flush_log_at_trx_commit = ` + strconv.Itoa(how)})
}

// crash kills the server, and starts it again.
func (u *unflushed) crash(t *testing.T) {
	u.server.Kill()
	require.NoError(t, u.server.Start())
	u.store = stocktest.Open(t, u.server.URL(), stock.Options{})
}

// TestUnflushedIsNotAcknowledged: a row that another session has committed can be read
// before it is on the disk. Until it is, the service does not report it as found.
func TestUnflushedIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	u := newUnflushed(t)
	stocktest.Pool(t, u.store, "p", 100)
	move := draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 5, Reason: "more", Key: "key"}
	issued := int64(0)
	win := func(id string) func() error {
		return func() error {
			urn := urn.NewUrn("p")
			tx, err := u.store.Read(t.Context(), urn, stock.TxOptions{})
			require.NoError(t, err)
			tx.Rollback()
			issued++
			p := stocktest.Plan("p", urn.Version, "a", issued-1, id)
			return u.store.Write(t.Context(), stocktest.On(urn, p), stock.TxOptions{})
		}
	}
	has := func(id string) bool {
		_, err := u.store.Draw(t.Context(), "p", id)
		if draw.CodeOf(err) == draw.CodeDrawNotFound {
			return false
		}
		require.NoError(t, err)
		return true
	}
	replayed := func(o stock.TxOptions) func(id string) {
		return func(id string) {
			tx, err := u.store.Read(t.Context(), urn.NewUrn("p"), o)
			require.NoError(t, err)
			defer tx.Rollback()
			found, err := tx.Draws(t.Context(), "p", []string{id})
			require.NoError(t, err)
			require.Contains(t, found, id)
			require.NoError(t, tx.Write(t.Context(), &urn.Plan{PoolID: "p"}))
		}
	}
	for name, ask := range map[string]func(id string){
		"replayed":           replayed(stock.TxOptions{}),
		"replayed-in-a-lock": replayed(stock.TxOptions{Lock: true}),
		"read":               func(id string) { require.True(t, has(id)) },
	} {
		u.commit(t, win(name))
		ask(name)
		u.crash(t)
		require.True(t, has(name), name)
	}

	paused, open := draw.StatePaused, draw.StateOpen
	become := func(state *draw.State) error {
		_, err := u.store.ChangePool(t.Context(), "p", draw.PoolChange{State: state}, "test")
		return err
	}
	for what, change := range map[string]func() error{
		"a move":   func() error { _, err := u.store.Stock(t.Context(), move, "test"); return err },
		"a change": func() error { return become(&paused) },
	} {
		u.commit(t, change)
		require.NoError(t, change(), "%s is there already", what)
		u.crash(t)
	}
	pool, err := u.store.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, paused, pool.State)
	require.Equal(t, int64(105), pool.Prizes[0].Stocked)
	require.NoError(t, become(&open))

	lost := false
	for n := 0; n < 20 && !lost; n++ { // the server may flush by itself
		id := "nobody-asks-" + strconv.Itoa(n)
		u.commit(t, win(id))
		u.crash(t)
		if lost = !has(id); lost {
			issued--
		}
	}
	require.True(t, lost, "what nobody has asked for is lost, or this test catches nothing")
	stocktest.NoViolations(t, u.store, "p")
}
