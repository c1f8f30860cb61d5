package servertest

import (
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// TestPgBouncerSharesSessions: two clients share one session of the server, unless
// pgbouncer's settings give each client its own.
func TestPgBouncerSharesSessions(t *testing.T) {
	database := Postgres(t)
	for mode, shared := range map[string]bool{"transaction": true, "session": false} {
		s := StartPgBouncer(t, database, Args("pool_mode="+mode))
		pid := func(conn *pgx.Conn) (pid uint32) {
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid))
			return pid
		}
		first, err := pgx.Connect(t.Context(), s.URL())
		require.NoError(t, err)
		second, err := pgx.Connect(t.Context(), s.URL())
		require.NoError(t, err)
		require.Equal(t, shared, pid(first) == pid(second), mode)
		require.NoError(t, first.Close(t.Context()))
		require.NoError(t, second.Close(t.Context()))

		s.Kill()
		_, err = net.Dial("tcp", s.Addr())
		require.Error(t, err)
		require.NoError(t, s.Start())
		require.NoError(t, postgresReady(t.Context(), s))
	}
}
