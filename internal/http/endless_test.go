package http

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

// blanks is a store with only an endless blank.
type blanks struct{ fakeStore }

func (blanks) Moves(context.Context, string, int64, int) ([]draw.Move, error) {
	return []draw.Move{{Version: 1, PrizeID: "none", Delta: draw.EndlessStock, Reason: "created", At: at, Stocked: draw.EndlessStock, IsEndless: true}}, nil
}

func (b blanks) Log(ctx context.Context, id string, after int64, limit int) ([]draw.Entry, error) {
	moves, err := b.Moves(ctx, id, after, limit)
	return []draw.Entry{{Move: &moves[0]}}, err
}

func (blanks) Audit(_ context.Context, id string) (draw.Audit, error) {
	return draw.Audit{PoolID: id, Prizes: []draw.PrizeAudit{{
		PrizeID: "none", IsEndless: true, Stocked: draw.EndlessStock, Issued: 2, Awards: 2, Remaining: draw.EndlessStock - 2,
	}}}, nil
}

func (blanks) Statements(context.Context, string, string, int) ([]job.Line, string, error) {
	return []job.Line{{Day: "2026-03-01", Prize: "none", Issued: 2, Remaining: draw.EndlessStock - 2, IsEndless: true}}, "", nil
}

func (blanks) Import(context.Context, draw.Import, io.Reader, func(int, int)) (draw.Imported, error) {
	return draw.Imported{Encoding: draw.EncodingUTF8, Preview: []draw.ImportedPrize{{PrizeID: "none", Name: "None", IsNew: true, IsEndless: true, Delta: draw.EndlessStock, Stocked: draw.EndlessStock}}}, nil
}

// TestEndlessStockShowsNoNumber: no answer shows the number that represents endless.
func TestEndlessStockShowsNoNumber(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{}, func(c *Config) {
		c.Store = blanks{c.Store.(fakeStore)}
	})
	for path, want := range map[string][2]string{
		"moves":      {`"delta":null,"reason":"created","actor":"","stocked":null,"issued":0`, "none,endless,created,,endless,0"},
		"log":        {`"delta":null,"reason":"created","actor":"","stocked":null,"issued":0`, ""},
		"audit":      {`"stocked":null,"issued":2,"awards":2,"remaining":null,"over_issued":0`, ""},
		"statements": {`"issued":2,"remaining":null,`, "none,2,endless,0.00"},
	} {
		require.Contains(t, do(s, asAdmin("GET", "/admin/pools/p/"+path, "")).Body.String(), want[0], path)
		if want[1] != "" {
			require.Contains(t, do(s, asAdmin("GET", "/admin/pools/p/"+path, "", "Accept", "text/csv")).Body.String(), want[1], path)
		}
	}
	lines := do(s, asAdmin("GET", "/admin/pools/p/log", "", "Accept", "application/x-ndjson")).Body.String()
	require.Contains(t, lines, `"delta":null`)
	require.Contains(t, do(s, importCall(importPath+"?dry_run=true", "x")).Body.String(), `"delta":null,"stocked":null`)
}
