package stocktest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// testAgendaOnce: items under a key are planned once. A replay returns the first result
// with the same salt, even if the pool has changed since.
func testAgendaOnce(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "p", 5)
	Pool(t, s, "q", 5)
	noon := s.Now().Add(time.Hour).Truncate(time.Second).UTC()
	at := func(d time.Duration) string { return noon.Add(d).Format(time.RFC3339) }
	file := "at,prize,delta,reason\n" + at(0) + ",a,1,x\n" + at(time.Minute) + ",a,2,y\n"
	in := func(pool, key, text string) (draw.Planned, error) {
		return s.ImportAgenda(ctx, pool, strings.NewReader(text), key, "ben")
	}
	longest := strings.Repeat("k", draw.KeyMax)
	first, err := in("p", longest, file)
	require.NoError(t, err)
	require.False(t, first.Replayed)
	require.Equal(t, first.Seal, draw.NewSeal(first.Seal.Salt, itemsFrom(t, s, "p")), "the salt opens the seal")
	other, err := in("q", longest, file)
	require.NoError(t, err, "the key is another pool's")
	require.False(t, other.Replayed)
	require.NotEqual(t, first.Seal, other.Seal)
	require.Len(t, other.Seal.Salt, len(first.Seal.Salt))

	spread := draw.Spread{PrizeID: "a", Units: 3, From: noon, To: noon.Add(time.Hour), Reason: "agenda"}
	moments, err := s.SpreadAgenda(ctx, "p", spread, "moments", "ben")
	require.NoError(t, err)
	before, err := s.Pool(ctx, "p")
	require.NoError(t, err)

	first.Replayed, moments.Replayed = true, true
	again := func(text, why string) {
		t.Helper()
		planned, err := in("p", longest, text)
		require.NoError(t, err, why)
		require.Equal(t, first, planned)
		planned, err = s.SpreadAgenda(ctx, "p", spread, "moments", "ben")
		require.NoError(t, err, why)
		require.Equal(t, moments, planned, "the first moments, whatever come by chance now")
	}
	again("REASON;delta;prize;at\nx;1;a;"+at(0)+"\ny;2;a;"+at(time.Minute)+"\n", "the same content, written in another way")
	for name, reuse := range map[string]func() (draw.Planned, error){
		"another file": func() (draw.Planned, error) { return in("p", longest, strings.ReplaceAll(file, "x", "z")) },
		"another spread": func() (draw.Planned, error) {
			more := spread
			more.Units++
			return s.SpreadAgenda(ctx, "p", more, "moments", "ben")
		},
		"of the file": func() (draw.Planned, error) { return s.SpreadAgenda(ctx, "p", spread, longest, "ben") },
	} {
		_, err := reuse()
		require.Equal(t, draw.CodeKeyReused, draw.CodeOf(err), name)
	}
	_, err = in("p", "\u00fcmlaut", file)
	code(t, draw.CodeInvalidRequest, err)
	after, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, before, after, "replays and refusals changed the pool")

	_, err = s.ChangePool(ctx, "p", draw.PoolChange{State: new(draw.StateClosed)}, "ben")
	require.NoError(t, err)
	again(file, "a known key is answered, whatever the state")
	_, err = in("p", "new", file)
	code(t, draw.CodePoolClosed, err)
	for range 2 { // without a key, each call plans the items of the file
		planned, err := in("q", "", file)
		require.NoError(t, err)
		require.False(t, planned.Replayed)
	}
	require.Len(t, itemsFrom(t, s, "q"), 6)
	planItemOnce(t, s, "q", longest, noon)
	NoViolations(t, s, "q")
}

// planItemOnce plans an item of each kind, each under a key of its own. used is the key
// of a file.
func planItemOnce(t *testing.T, s *stock.Store, poolID, used string, noon time.Time) {
	t.Helper()
	ctx := t.Context()
	kinds := map[string]draw.Item{
		"state": StateAt(noon, draw.StatePaused), "stock": StockAt(noon, "a", 1),
		"rules": {At: noon, Kind: draw.ItemRules, Rules: rulesOf(t, `{"limits":[{"of":"draws","max":9}]}`)}, "no rules": {At: noon, Kind: draw.ItemRules},
	}
	first := map[string]draw.Item{}
	for key, item := range kinds {
		planned, err := s.PlanItem(ctx, poolID, item, key, "ben")
		require.NoError(t, err)
		require.False(t, planned.Replayed)
		first[key] = planned
	}
	count := len(itemsFrom(t, s, poolID))
	require.NoError(t, s.RemoveItem(ctx, poolID, first["stock"].Number, "ben"))
	before, err := s.Pool(ctx, poolID)
	require.NoError(t, err)
	for key, item := range kinds {
		item.At = item.At.In(time.FixedZone("CET", 3600)).Add(time.Nanosecond) // the same instant in another zone, and the nanosecond is not stored
		again, err := s.PlanItem(ctx, poolID, item, key, "eve")
		require.NoError(t, err)
		want := first[key]
		want.Replayed = true
		require.True(t, want.At.Equal(again.At))
		again.At = want.At
		require.Equal(t, want, again, "the first result, also of an item that was removed")
		item.At = noon.Add(time.Second)
		_, err = s.PlanItem(ctx, poolID, item, key, "ben")
		code(t, draw.CodeKeyReused, err)
		_, err = s.PlanItem(ctx, poolID, item, used, "ben")
		code(t, draw.CodeKeyReused, err)
		_, err = s.ImportAgenda(ctx, poolID, strings.NewReader("at,prize,delta,reason\n"+noon.Format(time.RFC3339)+",a,1,x\n"), key, "ben")
		code(t, draw.CodeKeyReused, err)
	}
	after, err := s.Pool(ctx, poolID)
	require.NoError(t, err)
	require.Equal(t, before, after, "replays and refusals changed the pool")
	require.Len(t, itemsFrom(t, s, poolID), count-1)
	_, err = s.PlanItem(ctx, poolID, StateAt(noon.Add(time.Hour), draw.StateOpen), "\u00fcmlaut", "ben")
	code(t, draw.CodeInvalidRequest, err)
}

// itemsFrom returns the items of a pool's agenda in order.
func itemsFrom(t *testing.T, s *stock.Store, poolID string) []draw.Item {
	t.Helper()
	items, err := s.Agenda(t.Context(), poolID, 0, 1000, false)
	require.NoError(t, err)
	return items
}
