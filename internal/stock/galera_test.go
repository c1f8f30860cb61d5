package stock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestGalera: after one node has acknowledged a write, every other node returns it at the
// next query. If two plans start from the same state of a pool, one of them is refused.
func TestGalera(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartGalera(t, 2)
	stores := []*stock.Store{
		stocktest.Open(t, nodes[0].URL(), stock.Options{}),
		stocktest.Open(t, nodes[1].URL(), stock.Options{}),
	}
	stocktest.Pool(t, stores[0], "p", 1000)
	urns := []*urn.Urn{urn.NewUrn("p"), urn.NewUrn("p")}
	for n := range 300 {
		one, other := n%2, (n+1)%2
		at, err := stores[one].Pool(t.Context(), "p")
		require.NoError(t, err)
		move, err := stores[one].Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 1, Reason: "more"}, "test")
		require.NoError(t, err)
		require.Equal(t, at.Version+1, move.Version, "the move before was made on the other node")
		tx, err := stores[other].Read(t.Context(), urns[other], stock.TxOptions{Lock: n%4 < 2})
		require.NoError(t, err)
		tx.Rollback()
		require.Equal(t, move.Version, urns[other].Version, "after %d moves", n)
	}

	tries := make([]stock.Tx, len(stores))
	for n, s := range stores {
		tx, err := s.Read(t.Context(), urns[n], stock.TxOptions{Lock: true})
		require.NoError(t, err, "a row is locked on one node only")
		tries[n] = tx
	}
	require.Equal(t, urns[0].Version, urns[1].Version)
	answers := make(chan error, len(tries))
	for n, tx := range tries {
		plan := stocktest.On(urns[n], stocktest.Plan("p", urns[n].Version, "a", 0, fmt.Sprint("d", n)))
		go func() {
			defer tx.Rollback()
			answers <- tx.Write(t.Context(), plan)
		}()
	}
	won := 0
	for range tries {
		if err := <-answers; err == nil {
			won++
		} else {
			require.Equal(t, stock.ClassConflict, stock.ClassOf(err), err)
		}
	}
	require.Equal(t, 1, won)
	require.Equal(t, int64(1), stocktest.NoViolations(t, stores[1], "p").Prizes[0].Awards)
}
