package servertest

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// silence is the time during which a held link is watched.
const silence = 100 * time.Millisecond

func linked(t *testing.T) (p *Proxy, direct string, conn *pgx.Conn) {
	t.Helper()
	direct = Postgres(t)
	p = StartProxy(t, direct)
	conn, err := pgx.Connect(t.Context(), p.URL())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return p, direct, conn
}

// begin starts executing a statement.
func begin(t *testing.T, conn *pgx.Conn, statement string) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := conn.Exec(t.Context(), statement)
		done <- err
	}()
	return done
}

func requireSilence(t *testing.T, done <-chan error) {
	t.Helper()
	select {
	case err := <-done:
		require.Fail(t, "answered", "%v", err)
	case <-time.After(silence):
	}
}

func TestProxyCountsRoundTrips(t *testing.T) {
	p, _, conn := linked(t)
	before := p.Turns()
	for range 7 {
		_, err := conn.Exec(t.Context(), "SELECT 1")
		require.NoError(t, err)
	}
	require.EqualValues(t, 7, p.Turns()-before)

	before = p.Turns()
	batch := &pgx.Batch{}
	for range 5 {
		batch.Queue("SELECT 1")
	}
	conn.Config().DefaultQueryExecMode = pgx.QueryExecModeExec
	require.NoError(t, conn.SendBatch(t.Context(), batch).Close())
	require.LessOrEqual(t, p.Turns()-before, int64(2), "a pipeline is not five round trips")
}

func TestProxyHoldIsSilent(t *testing.T) {
	p, direct, conn := linked(t)
	p.Hold()
	done := begin(t, conn, "CREATE TABLE fact (answer int)")
	connected := make(chan error, 1)
	go func() {
		second, err := pgx.Connect(t.Context(), p.URL())
		if err == nil {
			err = second.Close(t.Context())
		}
		connected <- err
	}()
	requireSilence(t, done)
	requireSilence(t, connected)
	require.Error(t, executePostgres(t.Context(), direct, "TABLE fact"), "the server was not asked")

	p.Pass()
	require.NoError(t, <-done)
	require.NoError(t, <-connected)
	require.NoError(t, executePostgres(t.Context(), direct, "TABLE fact"))
}

func TestProxyHoldAnswersLetsTheServerAct(t *testing.T) {
	p, direct, conn := linked(t)
	p.HoldAnswers()
	done := begin(t, conn, "CREATE TABLE fact (answer int)")
	requireSilence(t, done)
	require.Eventually(t, func() bool { return executePostgres(t.Context(), direct, "TABLE fact") == nil }, readyMax, silence/10, "the server did it")
	p.Cut()
	require.Error(t, <-done, "but the client does not know")
}

func TestProxyCutEndsAndRefusesConnections(t *testing.T) {
	p, _, conn := linked(t)
	p.Cut()
	_, err := conn.Exec(t.Context(), "SELECT 1")
	require.Error(t, err)
	_, err = pgx.Connect(t.Context(), p.URL())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)

	p.Pass()
	require.NoError(t, executePostgres(t.Context(), p.URL(), "SELECT 1"))
	p.Hold()
	done := begin(t, conn, "SELECT 1")
	p.Cut()
	require.Error(t, <-done)
}

func TestProxyTakesAnAddress(t *testing.T) {
	s := Start(t, "redis")
	p := StartProxy(t, s.Addr())
	require.NoError(t, ask(t.Context(), p.Addr(), "PING\r\nQUIT\r\n", "+PONG"))
	require.Equal(t, p.Addr(), p.URL())
	s.Kill()
	require.Error(t, ask(t.Context(), p.Addr(), "PING\r\nQUIT\r\n", "+PONG"))
	require.NoError(t, s.Start())
	require.NoError(t, ask(t.Context(), p.Addr(), "PING\r\nQUIT\r\n", "+PONG"))
}
