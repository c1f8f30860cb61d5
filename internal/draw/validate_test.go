package draw

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
)

func invalid(t *testing.T, err error, says string) {
	t.Helper()
	require.Equal(t, CodeInvalidRequest, CodeOf(err), "%v", err)
	require.ErrorContains(t, err, says)
}

func TestPrizeCheck(t *testing.T) {
	good := Prize{ID: "gold", Name: "Gold", Value: ValueMax(), Stocked: StockMax}
	require.NoError(t, good.Check())
	for says, spoil := range map[string]func(*Prize){
		"prize id is missing":         func(p *Prize) { p.ID = "" },
		"prize name is missing":       func(p *Prize) { p.Name = "" },
		"longer than 200":             func(p *Prize) { p.Name = strings.Repeat("é", NameMax+1) },
		"not printable":               func(p *Prize) { p.Name = "a\x00b" },
		"not valid UTF-8":             func(p *Prize) { p.Name = "a\xffb" },
		`stock of prize "gold" must`:  func(p *Prize) { p.Stocked = -1 },
		`of prize "gold" must be 0 `:  func(p *Prize) { p.Stocked = StockMax + 1 },
		`value of prize "gold" must`:  func(p *Prize) { p.Value = decimal.New(-1, -2) },
		"at most two decimals":        func(p *Prize) { p.Value = decimal.New(1, -3) },
		"must be 0 to 999999999999.9": func(p *Prize) { p.Value = ValueMax().Add(decimal.New(1, -2)) },
	} {
		bad := good
		spoil(&bad)
		invalid(t, bad.Check(), says)
	}
	good.Value = decimal.New(100_000, -5)
	require.NoError(t, good.Check(), "1.00000 is an amount to the cent")
}

func TestPoolCheck(t *testing.T) {
	pool := Pool{ID: "spring", Name: "Spring", Prizes: []Prize{{ID: "a", Name: "A"}, {ID: "b", Name: "B"}}}
	require.NoError(t, pool.Check())
	pool.Prizes = append(pool.Prizes, Prize{ID: "a", Name: "again"})
	invalid(t, pool.Check(), `prize id "a" is there twice`)
	pool.Prizes[2].ID = "A"
	invalid(t, pool.Check(), "must match")
	invalid(t, (&Pool{ID: "spring"}).Check(), "pool name is missing")
	invalid(t, (&Pool{Name: "x"}).Check(), "pool id is missing")
}

func TestPoolChangeCheck(t *testing.T) {
	state, bad, name, none := StatePaused, State("shut"), "New", ""
	invalid(t, (&PoolChange{}).Check(), "nothing to change")
	invalid(t, (&PoolChange{State: &bad}).Check(), "state must be")
	invalid(t, (&PoolChange{Name: &none}).Check(), "name is missing")
	invalid(t, (&PoolChange{Name: &name, State: &bad}).Check(), "state must be")
	require.NoError(t, (&PoolChange{Mode: &none}).Check())
	require.NoError(t, (&PoolChange{Name: &name, State: &state}).Check())
	for _, s := range []State{StateOpen, StatePaused, StateClosed} {
		require.NoError(t, CheckState(s))
	}
	invalid(t, CheckState(""), "state must be")
}

func TestStockingCheck(t *testing.T) {
	ok := Stocking{Delta: -StockMax, Reason: "r", Key: "k"}
	require.NoError(t, ok.Check())
	for says, w := range map[string]Stocking{
		"delta must be a whole number": {Delta: 0, Reason: "r"},
		"from -1000000000000":          {Delta: -StockMax - 1, Reason: "r"},
		"to 1000000000000":             {Delta: StockMax + 1, Reason: "r"},
		"reason is missing":            {Delta: 1},
		"Idempotency-Key":              {Delta: 1, Reason: "r", Key: "é"},
	} {
		invalid(t, w.Check(), says)
	}
}

func TestRequestCheck(t *testing.T) {
	good := Request{PoolID: "p", UserID: "u", DrawID: "k", Count: CountMax}
	require.NoError(t, good.Check())
	for says, spoil := range map[string]func(*Request){
		"pool is missing": func(r *Request) { r.PoolID = "" },
		"user is missing": func(r *Request) { r.UserID = "" },
		"count must be 1": func(r *Request) { r.Count = 0 },
		"1 to 100":        func(r *Request) { r.Count = CountMax + 1 },
		"Idempotency-Key": func(r *Request) { r.DrawID = "" },
	} {
		bad := good
		spoil(&bad)
		invalid(t, bad.Check(), says)
	}
}

// TestErrors: errors are distinguished by code, are wrapped once, and keep their cause.
func TestErrors(t *testing.T) {
	inner := Wrap(CodeContended, io.ErrUnexpectedEOF, "busy")
	outer := Wrap(CodeInternal, fmt.Errorf("more: %w", inner), "failed")
	require.Same(t, inner, outer)
	require.Equal(t, CodeContended, CodeOf(fmt.Errorf("around: %w", inner)))
	require.True(t, errors.Is(outer, io.ErrUnexpectedEOF))
	require.Equal(t, "contended: busy: unexpected EOF", inner.Error())
	require.Equal(t, "sold-out: none of 3", Errorf(CodeSoldOut, "none of %d", 3).Error())
	require.Equal(t, CodeInternal, CodeOf(io.EOF))
	require.Equal(t, Code(""), CodeOf(nil))
}
