package servertest

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGaleraNodesHaveTheSameRows: what one node takes, all have, also one that
// was away meanwhile and joins again.
func TestGaleraNodesHaveTheSameRows(t *testing.T) {
	t.Parallel()
	nodes := StartGalera(t, 2)
	var dbs []*sql.DB
	for _, node := range nodes {
		dbs = append(dbs, openMySQL(t, node.URL()))
	}
	count := func(n int) (found int) {
		require.NoError(t, dbs[n].QueryRowContext(t.Context(), "SELECT count(*) FROM numbers").Scan(&found))
		return found
	}
	_, err := dbs[1].ExecContext(t.Context(), "CREATE TABLE numbers (n INT PRIMARY KEY)")
	require.NoError(t, err)
	for n := range 2 {
		require.Eventually(t, func() bool { // the table comes to the other node a little later
			_, err = dbs[n].ExecContext(t.Context(), "INSERT IGNORE INTO numbers VALUES (?)", n)
			return err == nil
		}, readyMax, 10*time.Millisecond)
	}
	require.Eventually(t, func() bool { return count(0) == 2 && count(1) == 2 }, readyMax, 10*time.Millisecond)

	nodes[1].Stop() // in good order: one of two could not know whether it is cut off
	_, err = dbs[0].ExecContext(t.Context(), "INSERT INTO numbers VALUES (2)")
	require.NoError(t, err)
	require.NoError(t, nodes[1].Start())
	require.Eventually(t, func() bool { return count(1) == 3 }, readyMax, 10*time.Millisecond)
}
