package stock_test

import (
	"database/sql"
	"fmt"
	"net/url"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestDatabaseRenamedAway: while a restored database replaces the current one, no
// connection can be opened. An attempt then has written nothing, and its result is not in
// doubt.
func TestDatabaseRenamedAway(t *testing.T) {
	t.Parallel()
	base := servertest.Postgres(t)
	s := stocktest.Open(t, base, stock.Options{})
	stocktest.Pool(t, s, "p", 10)

	location, err := url.Parse(base)
	require.NoError(t, err)
	name := path.Base(location.Path)
	location.Path = "/postgres"
	beside, err := sql.Open("pgx", location.String())
	require.NoError(t, err)
	defer beside.Close()
	rename := func(from, to string) {
		t.Helper()
		for _, statement := range []string{
			fmt.Sprintf(`ALTER DATABASE %q ALLOW_CONNECTIONS false`, from),
			fmt.Sprintf(`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '%s'`, from),
			fmt.Sprintf(`ALTER DATABASE %q RENAME TO %q`, from, to),
			fmt.Sprintf(`ALTER DATABASE %q ALLOW_CONNECTIONS true`, to),
		} {
			_, err := beside.ExecContext(t.Context(), statement)
			require.NoError(t, err)
		}
	}

	rename(name, name+"_away")
	for range 3 { // the first error may be that of a session that was ended
		_, err = s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 5, Reason: "restock"}, "test")
		require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err), "%v", err)
		_, err = s.Read(t.Context(), urn.NewUrn("p"), stock.TxOptions{})
		require.Equal(t, stock.ClassUnavailable, stock.ClassOf(err), "%v", err)
	}
	rename(name+"_away", name)
	moved, err := s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 5, Reason: "restock"}, "test")
	require.NoError(t, err)
	require.Equal(t, int64(15), moved.Stocked)
}
