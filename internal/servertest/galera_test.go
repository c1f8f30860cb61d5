package servertest

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGaleraNodesHaveTheSameRows: a row that one node accepts is on all nodes, even on a
// node that was down at that time and has joined again.
func TestGaleraNodesHaveTheSameRows(t *testing.T) {
	t.Parallel()
	nodes := StartGalera(t, 2)
	var dbs []*sql.DB
	for _, node := range nodes {
		dbs = append(dbs, openMySQL(t, node.URL()))
	}
	var err error
	has := func(n, want int) func() bool { // queries may fail on a node that is joining or leaving
		return func() bool {
			var found int
			err = dbs[n].QueryRowContext(t.Context(), "SELECT count(*) FROM numbers").Scan(&found)
			return err == nil && found == want
		}
	}
	insert := func(n, number int) { // the other node gets the table slightly later
		require.Eventually(t, func() bool {
			_, err = dbs[n].ExecContext(t.Context(), "INSERT IGNORE INTO numbers VALUES (?)", number)
			return err == nil
		}, readyMax, 10*time.Millisecond)
	}
	_, err = dbs[1].ExecContext(t.Context(), "CREATE TABLE numbers (n INT PRIMARY KEY)")
	require.NoError(t, err)
	for n := range 2 {
		insert(n, n)
	}
	for n := range 2 {
		require.Eventually(t, has(n, 2), readyMax, 10*time.Millisecond)
	}

	nodes[1].Stop() // Stop, not Kill: the other node of two could not know whether it is cut off
	insert(0, 2)
	require.NoError(t, nodes[1].Start())
	require.Eventually(t, has(1, 3), readyMax, 10*time.Millisecond)
}
