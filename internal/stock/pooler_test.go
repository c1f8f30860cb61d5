package stock_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// through returns the URL of a database through a proxy.
func through(tb testing.TB, proxy *servertest.Server, database string) string {
	tb.Helper()
	u, err := url.Parse(database)
	require.NoError(tb, err)
	u.Host = proxy.Addr()
	return u.String()
}

// Additional ways to use PostgreSQL, which share one contract: two modes of a proxy, and
// the statements of another database.
const (
	wayLastFirst = iota
	wayInTurn
	wayFurther
	waysToPostgres
)

// TestContractThroughPgBouncer: the store keeps its contract if transactions of a
// connection get different sessions.
func TestContractThroughPgBouncer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		way      int
		settings []string
	}{
		{"last session first", wayLastFirst, nil},
		{"one session after next", wayInTurn, []string{"server_round_robin=1", "server_reset_query=DISCARD ALL", "server_reset_query_always=1"}},
	} {
		proxy := servertest.StartPgBouncer(t, servertest.Postgres(t), servertest.Args(c.settings...))
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			stocktest.RunShare(t, c.way, waysToPostgres, func(t *testing.T) *stock.Store {
				return stocktest.Open(t, through(t, proxy, stocktest.Migrated(t, "postgres")), stock.Options{})
			})
		})
	}
}

// TestPoolerIsKnown: a proxy is recognized, in whatever way it picks a session.
func TestPoolerIsKnown(t *testing.T) {
	t.Parallel()
	direct := servertest.Postgres(t)
	stocktest.Open(t, direct, stock.Options{})
	for _, c := range []struct {
		settings []string
		shares   bool
		note     string
	}{
		{[]string{"pool_mode=transaction"}, true, "transaction"},
		{[]string{"pool_mode=transaction", "server_round_robin=1"}, true, "transaction"},
		{[]string{"pool_mode=transaction", "default_pool_size=2", "server_round_robin=1"}, true, "transaction"},
		{[]string{"pool_mode=transaction", "default_pool_size=1"}, true, "transaction"},
		{[]string{"pool_mode=session"}, false, "session"},
	} {
		proxy := servertest.StartPgBouncer(t, direct, servertest.Args(c.settings...))
		for range 3 {
			s, err := stock.Open(t.Context(), proxy.URL(), stock.Options{})
			require.NoError(t, err)
			require.Equal(t, c.shares, s.SharesSessions(), "%v", c.settings)
			require.NoError(t, s.Close())
		}
		require.Contains(t, checkUp(t, proxy.URL()), "note pooler: a proxy such as pgbouncer is in between, pooling by "+c.note)
	}
	s, err := stock.Open(t.Context(), direct, stock.Options{})
	require.NoError(t, err)
	defer s.Close()
	require.False(t, s.SharesSessions())
	for _, line := range checkUp(t, direct) {
		require.NotContains(t, line, "pooler")
	}
}

// TestPreparedBehindPgBouncer: statements that stay prepared do not work through
// PgBouncer. The service does not use them, so operators need not configure anything.
func TestPreparedBehindPgBouncer(t *testing.T) {
	t.Parallel()
	proxy := servertest.StartPgBouncer(t, servertest.Postgres(t), servertest.Args("server_round_robin=1"))
	draws := func(database string) (failed error) {
		s, err := stock.Open(t.Context(), database, stock.Options{})
		require.NoError(t, err)
		defer s.Close()
		for range 5 {
			if _, err := s.Pools(t.Context()); err != nil {
				failed = err
			}
			if _, err := s.Pool(t.Context(), "p"); err != nil {
				failed = err
			}
		}
		return failed
	}
	stocktest.Pool(t, stocktest.Open(t, proxy.URL(), stock.Options{}), "p", 1)
	require.NoError(t, draws(proxy.URL()))
	prepared := proxy.URL() + "&default_query_exec_mode=cache_statement"
	_ = draws(prepared)
	require.Error(t, draws(prepared), "the session that it meets has them already, from another client")
	require.NoError(t, draws(proxy.URL()+"&default_query_exec_mode=exec"), "a mode that the URL names is kept")
}
