package stock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestDatabaseClock: what happens has the time of the database, whatever this
// machine's clock says. Here they are an hour apart.
func TestDatabaseClock(t *testing.T) {
	for dialect, clock := range map[string]string{
		"postgres": "clock_timestamp() + interval '1 hour'", "mysql": "UTC_TIMESTAMP(6) + INTERVAL 1 HOUR",
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, dialect)
			d := *stock.DialectOf(dialect)
			d.Clock = clock
			s, err := stock.OpenDialect(t.Context(), &d, url, stock.Options{})
			require.NoError(t, err)
			defer s.Close()
			require.NoError(t, s.Migrate(t.Context()))
			stocktest.Pool(t, s, "p", 5)
			move, err := s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 1, Reason: "x"}, "test")
			require.NoError(t, err)
			changes, err := s.Changes(t.Context(), "p", 0, 1)
			require.NoError(t, err)
			for _, at := range []time.Time{s.Now(), move.At, changes[0].At} {
				require.WithinDuration(t, time.Now().Add(time.Hour), at, time.Minute)
			}
			stocktest.NoViolations(t, s, "p")
		})
	}
	s := stocktest.New(t, "sqlite")
	require.WithinDuration(t, time.Now(), s.Now(), time.Minute, "a file has this machine's clock")
}
