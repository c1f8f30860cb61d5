package stock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestTurnsOfServerThatCannotBeWritten: on such a server, the turns that a resumed
// attempt reads may be old, and must not be the reason to refuse a draw.
func TestTurnsOfServerThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "postgres")
	s := stocktest.Open(t, server.URL(), stock.Options{})
	stocktest.Pool(t, s, "p", 10)
	rules, err := rules.Parse([]byte(`{"limits":[{"of":"draws","max":1}]}`))
	require.NoError(t, err)
	_, err = s.SetRules(t.Context(), "p", rules, nil, "test")
	require.NoError(t, err)
	u := urn.NewUrn("p")
	tx, err := s.Read(t.Context(), u, stock.TxOptions{})
	require.NoError(t, err)
	tx.Rollback()
	turns := func() error {
		tx, err := s.Resume(t.Context(), stock.TxOptions{})
		require.NoError(t, err)
		defer tx.Rollback()
		_, err = tx.Turns(t.Context(), u, []urn.Need{{Subject: "u", Counted: draw.CountedDraw}})
		return err
	}
	require.NoError(t, turns())
	stocktest.ExecAll(t, s, []string{`ALTER SYSTEM SET default_transaction_read_only = 'on'`, `SELECT pg_reload_conf()`})
	require.Eventually(t, func() bool {
		err := turns()
		return err != nil && stock.ClassOf(err) == stock.ClassUnavailable
	}, waitMax, tick)
}
