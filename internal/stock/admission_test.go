package stock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

func TestSchemaCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		stock.Schema
		says string
	}{
		{"its own", stock.Schema{Current: 5, AdmitsFrom: 3, Target: 5, Oldest: 4}, ""},
		{"newer, admitted", stock.Schema{Current: 6, AdmitsFrom: 5, Target: 5, Oldest: 4}, ""},
		{"newer, not admitted", stock.Schema{Current: 6, AdmitsFrom: 6, Target: 5, Oldest: 4}, "does not admit this drawsvc, which knows 5"},
		{"newer, says nothing", stock.Schema{Current: 6, Target: 5, Oldest: 4}, "does not admit this drawsvc"},
		{"on its way to one that does not admit", stock.Schema{Current: 5, AdmitsFrom: 6, Target: 5, Oldest: 4}, "does not admit this drawsvc"},
		{"older, enough", stock.Schema{Current: 4, AdmitsFrom: 3, Target: 5, Oldest: 4}, ""},
		{"older, too old", stock.Schema{Current: 3, AdmitsFrom: 3, Target: 5, Oldest: 4}, "has version 3, this drawsvc needs 4 or later: run `drawsvc migrate up`"},
		{"none", stock.Schema{Target: 5, Oldest: 4}, "has version 0, this drawsvc needs 4 or later"},
	} {
		err := c.Check()
		if c.says == "" {
			require.NoError(t, err, c.name)
			continue
		}
		require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err), c.name)
		require.ErrorContains(t, err, c.says, c.name)
	}
}

// begins returns the code with which a draw is refused, "" if the draw may begin.
func begins(t *testing.T, s *stock.Store) draw.Code {
	tx, err := s.Read(t.Context(), urn.NewUrn("p"), stock.TxOptions{})
	if err == nil {
		tx.Rollback()
	}
	return draw.CodeOf(err)
}

// TestExcludingSchemaStopsDraws: a schema that excludes the binary stops draws and
// changes. When the schema admits the binary again, they continue: at once if the
// readiness check reads the schema, otherwise in about a second.
func TestExcludingSchemaStopsDraws(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			stocktest.Pool(t, s, "p", 10)
			set := func(from string) {
				stocktest.ExecAll(t, s, []string{`UPDATE schema_admits SET binaries_from = ` + from})
			}
			require.NoError(t, s.CheckSchema(t.Context()))
			require.Empty(t, begins(t, s))
			set("99")
			require.Empty(t, begins(t, s), "nobody has read it")
			require.ErrorContains(t, s.CheckSchema(t.Context()), "does not admit this drawsvc")
			require.Equal(t, draw.CodeStoreUnavailable, begins(t, s))
			err := s.Write(t.Context(), stocktest.Plan("p", 2, "a", 0, "k"), stock.TxOptions{})
			require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
			_, err = s.CreatePool(t.Context(), draw.Pool{ID: "q", Name: "q"}, "test")
			require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
			require.False(t, s.CanShare())
			_, _, err = s.ReadShared(t.Context(), nil, stock.TxOptions{})
			require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
			set("1")
			require.NoError(t, s.CheckSchema(t.Context()))
			require.Empty(t, begins(t, s))

			s.WatchSchema()
			set("99")
			require.Eventually(t, func() bool { return begins(t, s) == draw.CodeStoreUnavailable }, waitMax, tick)
			set("1")
			require.Eventually(t, func() bool { return begins(t, s) == "" }, waitMax, tick)
			stocktest.Pool(t, s, "q", 10)
		})
	}
}

// TestAdmissionWithoutDatabase: if the schema cannot be read, nothing is stopped.
func TestAdmissionWithoutDatabase(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			link := servertest.StartProxy(t, stocktest.URL(t, dialect))
			s := stocktest.Open(t, link.URL(), stock.Options{})
			stocktest.Pool(t, s, "p", 10)
			require.NoError(t, s.CheckSchema(t.Context()))
			link.Hold()
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(s.CheckSchema(ctx)))
			link.Pass()
			require.Empty(t, begins(t, s), "nobody has read it since")
		})
	}
}

// TestWatchSchemaEnds: WatchSchema ends when its store is closed.
func TestWatchSchemaEnds(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s, err := stock.Open(t.Context(), stocktest.URL(t, "sqlite"), stock.Options{})
	require.NoError(t, err)
	s.WatchSchema()
	require.NoError(t, s.Close())
	goleak.VerifyNone(t, before)
}
