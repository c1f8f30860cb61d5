package stock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestCloseAfterTheLinkWasCut: a service whose idle connections are broken still closes
// properly.
func TestCloseAfterTheLinkWasCut(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			link := servertest.StartProxy(t, stocktest.URL(t, dialect))
			s, err := stock.Open(t.Context(), link.URL(), stock.Options{})
			require.NoError(t, err)
			require.NoError(t, s.Migrate(t.Context()))
			stocktest.Pool(t, s, "p", 1)
			tx, err := s.Read(t.Context(), urn.NewUrn("p"), stock.TxOptions{Lock: true})
			require.NoError(t, err)
			tx.Rollback()
			link.Cut()
			time.Sleep(tick) // until the resets have arrived
			require.NoError(t, s.Close())
		})
	}
}
