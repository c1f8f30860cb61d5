package stocktest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// testPoolSearch: pools are found by state and by words of their names and ids, in any
// case, with or without accents, page by page. Each comes with its own prizes.
func testPoolSearch(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	for i, name := range []string{"Frühling in Gießen", "Herbst", "FRÜHLINGS Fest 100%", "Şölen_fest", "Noël"} {
		id := fmt.Sprintf("p%d", i+1)
		_, err := s.CreatePool(ctx, draw.Pool{ID: id, Name: name, State: draw.StatePaused, Prizes: []draw.Prize{{ID: "of-" + id, Name: "A", Stocked: 1}}}, "test")
		require.NoError(t, err)
	}
	closed, yes := draw.StateClosed, true
	_, err := s.ChangePool(ctx, "p5", draw.PoolChange{State: &closed, Archived: &yes}, "test")
	require.NoError(t, err)
	ids := func(wanted draw.PoolFilter, after string, limit int) (found []string, next string) {
		pools, next, err := s.PoolPage(ctx, wanted, after, limit)
		require.NoError(t, err)
		for _, p := range pools {
			require.Len(t, p.Prizes, 1)
			require.Equal(t, "of-"+p.ID, p.Prizes[0].ID)
			found = append(found, p.ID)
		}
		return found, next
	}
	for words, want := range map[string][]string{
		"frühling": {"p1", "p3"}, "FRUHLING": {"p1", "p3"}, "fest": {"p3", "p4"}, "fest frühlings": {"p3"},
		"giessen": {"p1"}, "solen": {"p4"}, "100%": {"p3"}, "_": {"p4"}, "%": {"p3"}, "P2": {"p2"}, "noel": nil, "winter": nil,
	} {
		found, next := ids(draw.PoolFilter{Words: words}, "", 10)
		require.Equal(t, want, found, words)
		require.Empty(t, next, words)
	}
	found, next := ids(draw.PoolFilter{Words: "f"}, "", 1)
	require.Equal(t, []string{"p1"}, found)
	require.Equal(t, "p1", next)
	found, next = ids(draw.PoolFilter{Words: "frühling"}, next, 1)
	require.Equal(t, []string{"p3"}, found)
	require.Empty(t, next, "the last page")
	found, next = ids(draw.PoolFilter{}, "", 4)
	require.Equal(t, []string{"p1", "p2", "p3", "p4"}, found)
	require.Empty(t, next)
	found, _ = ids(draw.PoolFilter{State: draw.StateClosed}, "", 10)
	require.Empty(t, found, "it is archived")
	found, _ = ids(draw.PoolFilter{State: draw.StateClosed, Archived: draw.ArchivedToo}, "", 10)
	require.Equal(t, []string{"p5"}, found)
	found, _ = ids(draw.PoolFilter{Words: "p", Archived: draw.ArchivedOnly}, "", 10)
	require.Equal(t, []string{"p5"}, found)
	found, next = ids(draw.PoolFilter{State: draw.StatePaused}, "p1", 2)
	require.Equal(t, []string{"p2", "p3"}, found)
	require.Equal(t, "p3", next)
}
