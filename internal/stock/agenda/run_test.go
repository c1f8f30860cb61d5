package agenda_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/ledger"
)

// TestWritesThatFailEndTheRun: pending entries belong to earlier items. If they cannot be
// written, for any reason, the current item is not marked as failed.
func TestWritesThatFailEndTheRun(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := stock.Open(ctx, "sqlite:"+filepath.Join(t.TempDir(), "x.db"), stock.Options{})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Migrate(ctx))
	_, err = s.CreatePool(ctx, draw.Pool{ID: "p", Name: "P", Prizes: []draw.Prize{{ID: "gold", Name: "Gold", Stocked: 1}}}, "anna")
	require.NoError(t, err)
	move := draw.Item{Number: 1, At: time.Now(), Kind: draw.ItemStock, Actor: "anna", Stock: draw.Stocking{PoolID: "p", PrizeID: "gold", Delta: 1, Reason: "r"}}
	end := draw.Item{Number: 2, At: time.Now(), Kind: draw.ItemState, Actor: "anna", State: draw.StateClosed}
	ran, err := s.DoItems(ctx, "p", []draw.Item{move, end}, func(of *ledger.LockedPool) {
		of.Pool.State, of.Committed = draw.StateClosed, 1 // the fault: the pending move is refused when it is written
	})
	require.Equal(t, draw.CodePoolClosed, draw.CodeOf(err))
	require.Equal(t, 1, ran, "the second item is neither done nor failed")
}
