package stock_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestPrizesAreBounded: a pool with the maximum number of prizes accepts no further prize
// in any way. A pool that has more, from before the limit existed, can be restocked and
// drawn from.
func TestPrizesAreBounded(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "p")
	_, err := s.LockDB().ExecContext(t.Context(), fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO prizes (pool_id, id, name, value, stocked, added, changed) SELECT 'p', 'p' || i, 'P', '1.00', 0, i, i FROM n`, 2*draw.PrizesMax))
	require.NoError(t, err)
	_, err = s.AddPrize(t.Context(), "p", draw.Prize{ID: "more", Name: "More", Stocked: 1}, "test")
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%v", err)
	_, err = s.Import(t.Context(), draw.Import{PoolID: "p", Reason: "x", Actor: "test"}, strings.NewReader("prize,name,value,stock\nmore,More,1,1\n"), nil)
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%v", err)
	_, err = s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "p7", Delta: 1, Reason: "x"}, "test")
	require.NoError(t, err)
	u := urn.NewUrn("p")
	tx, err := s.Read(t.Context(), u, stock.TxOptions{})
	require.NoError(t, err)
	defer tx.Rollback()
	plan := u.Plan([]*urn.Ask{{Request: draw.Request{PoolID: "p", UserID: "u", DrawID: "d", Count: 1}}}, s.Now())
	require.NoError(t, tx.Write(t.Context(), plan))
	require.Equal(t, "p7", plan.Awards[0].PrizeID)

	_, err = s.CreatePool(t.Context(), draw.Pool{ID: "q", Name: "Q", Prizes: make([]draw.Prize, draw.PrizesMax+1)}, "test")
	require.ErrorContains(t, err, "a pool may hold 100000 prizes at most")
}
