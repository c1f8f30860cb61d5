package stock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestRoundTrips counts what a batch costs on the wire, at a proxy between the
// store and PostgreSQL: two round trips, one for the read and one for the write,
// and only the write for a pool that is remembered.
func TestRoundTrips(t *testing.T) {
	proxy := servertest.StartProxy(t, servertest.Postgres(t))
	s := stocktest.Open(t, proxy.URL(), stock.Options{})
	for name, o := range map[string]stock.TxOptions{"locked": {Lock: true}, "unlocked": {}, "fenced": {By: "l", Fence: 1}} {
		stocktest.Pool(t, s, name, 1000)
		urn := draw.NewUrn(name)
		version := int64(1)
		batch := func() {
			tx, err := s.Begin(t.Context(), urn, o)
			require.NoError(t, err)
			defer tx.Rollback()
			plan := stocktest.Plan(name, version, "a", version-1, fmt.Sprint("d", version), fmt.Sprint("e", version))
			require.NoError(t, tx.Apply(t.Context(), plan))
			version += 2
		}
		batch() // the first prepares the statements
		batch()
		for range 5 {
			before := proxy.Turns()
			batch()
			require.Equal(t, int64(2), proxy.Turns()-before, name)
		}
		o.Remembered = true
		for n := range 5 {
			urn.Version = version
			before := proxy.Turns()
			batch()
			if n > 0 { // the first prepares a statement
				require.Equal(t, int64(1), proxy.Turns()-before, name)
			}
		}
	}
}
