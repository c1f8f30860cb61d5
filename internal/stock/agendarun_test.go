package stock

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// TestWritesThatFailEndTheRun: what waits to be written is of the items before. Where
// it is refused, whatever the code, the item under way is not marked as failed.
func TestWritesThatFailEndTheRun(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "x.db"), Options{})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Migrate(ctx))
	_, err = s.CreatePool(ctx, draw.Pool{ID: "p", Name: "P", Prizes: []draw.Prize{{ID: "gold", Name: "Gold", Stocked: 1}}}, "anna")
	require.NoError(t, err)
	var r *agendaRun
	err = s.ledger.Once(ctx, func(tx *sql.Tx) error {
		of, err := s.ledger.LockRow(ctx, tx, "p", "anna")
		if err != nil {
			return err
		}
		r = &agendaRun{store: s, tx: tx, of: of}
		stock := draw.Item{Number: 1, At: time.Now(), Kind: draw.ItemStock, Actor: "anna", Stock: draw.Stocking{PoolID: "p", PrizeID: "gold", Delta: 1, Reason: "r"}}
		if err := r.do(ctx, &stock); err != nil {
			return err
		}
		of.Pool.State, of.Committed = draw.StateClosed, 1 // the fault: the move that waits is refused when it is written
		end := draw.Item{Number: 2, At: time.Now(), Kind: draw.ItemState, Actor: "anna", State: draw.StateClosed}
		return r.do(ctx, &end)
	})
	require.Equal(t, draw.CodePoolClosed, draw.CodeOf(err))
	require.Len(t, r.ran, 1, "the second item is neither done nor failed")
}
