package stock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/stocktest"
)

// TestCheckpointOfTwo: a publisher, which does not lock the pool, stores the checkpoint
// of a size while another command signs a checkpoint of the same size. Both succeed.
func TestCheckpointOfTwo(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} { // other databases admit one writer at a time
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := stocktest.New(t, dialect)
			s.Unseal(stocktest.Identities(t))
			stocktest.Pool(t, s, "p", 100)
			_, err := s.ChangePool(ctx, "p", draw.PoolChange{State: new(draw.StatePaused)}, "test")
			require.NoError(t, err)
			require.NoError(t, stocktest.Commit(t, s, "p", 2, 100))
			p, err := s.Publishing(ctx, "p")
			require.NoError(t, err)
			tail, err := p.Lines(ctx, 1, 100)
			require.NoError(t, err)
			var tree proof.Tree
			for _, l := range tail.Lines {
				tree.Add(l.Text)
			}
			note, err := p.Sign((&proof.Checkpoint{Origin: p.Origin(), Size: tree.Size(), Root: tree.Root()}).Text())
			require.NoError(t, err)
			tx, err := s.LockDB().BeginTx(ctx, nil)
			require.NoError(t, err)
			_, err = tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO checkpoints (pool_id, size, note) VALUES ('p', %d, '%s')", tree.Size(), note))
			require.NoError(t, err)
			done := make(chan error, 1)
			go func() { done <- s.Checkpoint(ctx, "p") }()
			time.Sleep(300 * time.Millisecond) // usually it waits for the row by then; if it is slower, it finds the row
			require.NoError(t, tx.Commit())
			require.NoError(t, <-done)
			signed, err := p.Signed(ctx, 0)
			require.NoError(t, err)
			require.Equal(t, [][]byte{note}, signed)
		})
	}
}
