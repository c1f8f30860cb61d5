package draw_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
)

func TestPrizeCheck(t *testing.T) {
	good := draw.Prize{ID: "gold", Name: "Gold", Value: draw.ValueMax(), Stocked: draw.StockMax}
	require.NoError(t, good.Check())
	for says, spoil := range map[string]func(*draw.Prize){
		"prize id is missing":         func(p *draw.Prize) { p.ID = "" },
		"prize name is missing":       func(p *draw.Prize) { p.Name = "" },
		"longer than 200":             func(p *draw.Prize) { p.Name = strings.Repeat("é", draw.NameMax+1) },
		"not printable":               func(p *draw.Prize) { p.Name = "a\x00b" },
		"not valid UTF-8":             func(p *draw.Prize) { p.Name = "a\xffb" },
		`stock of prize "gold" must`:  func(p *draw.Prize) { p.Stocked = -1 },
		`of prize "gold" must be 0 `:  func(p *draw.Prize) { p.Stocked = draw.StockMax + 1 },
		`value of prize "gold" must`:  func(p *draw.Prize) { p.Value = decimal.New(-1, -2) },
		"at most two decimals":        func(p *draw.Prize) { p.Value = decimal.New(1, -3) },
		"must be 0 to 999999999999.9": func(p *draw.Prize) { p.Value = draw.ValueMax().Add(decimal.New(1, -2)) },
	} {
		bad := good
		spoil(&bad)
		drawtest.Invalid(t, bad.Check(), says)
	}
	good.Value = decimal.New(100_000, -5)
	require.NoError(t, good.Check(), "1.00000 is an amount to the cent")
}

func TestPoolCheck(t *testing.T) {
	pool := draw.Pool{ID: "spring", Name: "Spring", Prizes: []draw.Prize{{ID: "a", Name: "A"}, {ID: "b", Name: "B"}}}
	require.NoError(t, pool.Check())
	pool.Prizes = append(pool.Prizes, draw.Prize{ID: "a", Name: "again"})
	drawtest.Invalid(t, pool.Check(), `prize id "a" is there twice`)
	pool.Prizes[2].ID = "A"
	drawtest.Invalid(t, pool.Check(), "must match")
	drawtest.Invalid(t, (&draw.Pool{ID: "spring"}).Check(), "pool name is missing")
	drawtest.Invalid(t, (&draw.Pool{Name: "x"}).Check(), "pool id is missing")
}

func TestPoolChangeCheck(t *testing.T) {
	state, bad, name, none := draw.StatePaused, draw.State("shut"), "New", ""
	drawtest.Invalid(t, (&draw.PoolChange{}).Check(), "nothing to change")
	drawtest.Invalid(t, (&draw.PoolChange{State: &bad}).Check(), "state must be")
	drawtest.Invalid(t, (&draw.PoolChange{Name: &none}).Check(), "name is missing")
	drawtest.Invalid(t, (&draw.PoolChange{Name: &name, State: &bad}).Check(), "state must be")
	require.NoError(t, (&draw.PoolChange{Mode: &none}).Check())
	require.NoError(t, (&draw.PoolChange{Name: &name, State: &state}).Check())
	for _, s := range []draw.State{draw.StateOpen, draw.StatePaused, draw.StateClosed} {
		require.NoError(t, draw.CheckState(s))
	}
	drawtest.Invalid(t, draw.CheckState(""), "state must be")
}

func TestStockingCheck(t *testing.T) {
	ok := draw.Stocking{Delta: -draw.StockMax, Reason: "r", Key: "k"}
	require.NoError(t, ok.Check())
	for says, w := range map[string]draw.Stocking{
		"delta must be a whole number": {Delta: 0, Reason: "r"},
		"from -1000000000000":          {Delta: -draw.StockMax - 1, Reason: "r"},
		"to 1000000000000":             {Delta: draw.StockMax + 1, Reason: "r"},
		"reason is missing":            {Delta: 1},
		"reason has only blanks":       {Delta: 1, Reason: "  "},
		"Idempotency-Key":              {Delta: 1, Reason: "r", Key: "é"},
	} {
		drawtest.Invalid(t, w.Check(), says)
	}
}

func TestRequestCheck(t *testing.T) {
	good := draw.Request{PoolID: "p", UserID: "u", DrawID: "k", Count: draw.CountMax}
	require.NoError(t, good.Check())
	for says, spoil := range map[string]func(*draw.Request){
		"pool is missing": func(r *draw.Request) { r.PoolID = "" },
		"user is missing": func(r *draw.Request) { r.UserID = "" },
		"count must be 1": func(r *draw.Request) { r.Count = 0 },
		"1 to 100":        func(r *draw.Request) { r.Count = draw.CountMax + 1 },
		"Idempotency-Key": func(r *draw.Request) { r.DrawID = "" },
	} {
		bad := good
		spoil(&bad)
		drawtest.Invalid(t, bad.Check(), says)
	}
}

// TestErrors: errors are distinguished by code, are wrapped once, and keep their cause.
func TestErrors(t *testing.T) {
	inner := draw.Wrap(draw.CodeContended, io.ErrUnexpectedEOF, "busy")
	outer := draw.Wrap(draw.CodeInternal, fmt.Errorf("more: %w", inner), "failed")
	require.Same(t, inner, outer)
	require.Equal(t, draw.CodeContended, draw.CodeOf(fmt.Errorf("around: %w", inner)))
	require.True(t, errors.Is(outer, io.ErrUnexpectedEOF))
	require.Equal(t, "contended: busy: unexpected EOF", inner.Error())
	require.Equal(t, "sold-out: none of 3", draw.Errorf(draw.CodeSoldOut, "none of %d", 3).Error())
	require.Equal(t, draw.CodeInternal, draw.CodeOf(io.EOF))
	require.Equal(t, draw.Code(""), draw.CodeOf(nil))
}
