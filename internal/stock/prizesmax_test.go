package stock_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// TestPrizesAreBounded: a pool that holds as many prizes as it may takes no
// further one, whichever way it comes.
func TestPrizesAreBounded(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "p")
	_, err := s.LockDB().ExecContext(t.Context(), fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO prizes (pool_id, id, name, value, stocked, added, changed) SELECT 'p', 'p' || i, 'P', '1.00', 0, i, i FROM n`, draw.PrizesMax))
	require.NoError(t, err)
	_, err = s.AddPrize(t.Context(), "p", draw.Prize{ID: "more", Name: "More", Stocked: 1}, "test")
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%v", err)
	_, err = s.Import(t.Context(), draw.Import{PoolID: "p", Reason: "x", Actor: "test"}, strings.NewReader("prize,name,value,stock\nmore,More,1,1\n"), nil)
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%v", err)
	_, err = s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "p7", Delta: 1, Reason: "x"}, "test")
	require.NoError(t, err)
}
