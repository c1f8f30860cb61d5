package stocktest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// linesOf returns the entries of a pool's history as lines that name the act and the
// actor.
func linesOf(t *testing.T, s *stock.Store, poolID string) (lines []string) {
	t.Helper()
	entries, err := s.Log(t.Context(), poolID, 0, 1000)
	require.NoError(t, err)
	for i, e := range entries {
		require.Equal(t, int64(i)+1, e.Version(), "one history without gaps")
		if i > 0 {
			require.False(t, e.At().Before(entries[i-1].At()), "time does not fall: %s, %s", entries[i-1].At(), e.At())
		}
		switch {
		case e.Change != nil:
			lines = append(lines, fmt.Sprintf("%s %s by %s", e.Change.What, e.Change.Body, e.Change.Actor))
		case e.Move != nil:
			lines = append(lines, fmt.Sprintf("move %s %+d by %s", e.Move.PrizeID, e.Move.Delta, e.Move.Actor))
		default:
			lines = append(lines, fmt.Sprintf("award %s %s", e.Award.DrawID, e.Award.PrizeName))
		}
	}
	return lines
}

// testHistory: every act on a pool is one entry of its history, with the actor. An act
// that changes nothing adds no entry.
func testHistory(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	_, err := s.CreatePool(ctx, draw.Pool{ID: "p", Name: "Spring", State: draw.StatePaused, Prizes: []draw.Prize{{ID: "a", Name: "A", Stocked: 2}}}, "anna")
	require.NoError(t, err)
	open, paused, mode, name, none := draw.StateOpen, draw.StatePaused, "external", "Summer \"é\"", ""
	change := func(c draw.PoolChange) {
		_, err := s.ChangePool(ctx, "p", c, "ben")
		require.NoError(t, err)
	}
	change(draw.PoolChange{State: &open})
	require.NoError(t, Write(t, s, stock.TxOptions{}, Plan("p", 3, "a", 0, "d1")))
	change(draw.PoolChange{State: &paused, Name: &name, Mode: &mode})
	change(draw.PoolChange{State: &paused, Name: &name, Mode: &mode}) // the pool already has these values
	change(draw.PoolChange{Mode: &none})
	_, err = s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 3, Reason: "more"}, "cleo")
	require.NoError(t, err)
	_, err = s.AddPrize(ctx, "p", draw.Prize{ID: "b", Name: "B"}, "dan")
	require.NoError(t, err)
	_, err = s.Import(ctx, draw.Import{PoolID: "p", Reason: "file", Actor: "eve"}, strings.NewReader("prize,name,value,stock\nb,,,4\n"), nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		`created {"name":"Spring","state":"paused","mode":null} by anna`, "move a +2 by anna", `state {"state":"open"} by ben`, "award d1 A",
		`name {"name":"Summer \"é\""} by ben`, `mode {"mode":"external"} by ben`, `state {"state":"paused"} by ben`, `mode {"mode":null} by ben`,
		"move a +3 by cleo", "move b +0 by dan", "move b +4 by eve",
	}, linesOf(t, s, "p"))
	p, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, [2]int64{11, 8}, [2]int64{p.Version, p.Revision})
	NoViolations(t, s, "p")
	for after, want := range map[int64][]int64{0: {1, 2}, 3: {4, 5}, 10: {11}, 11: nil} { // pages with entries of three logs
		page, err := s.Log(ctx, "p", after, 2)
		require.NoError(t, err)
		var versions []int64
		for _, e := range page {
			versions = append(versions, e.Version())
		}
		require.Equal(t, want, versions)
	}
	changes, err := s.Changes(ctx, "p", 1, 2)
	require.NoError(t, err)
	require.Equal(t, []int64{3, 5}, []int64{changes[0].Version, changes[1].Version})
	_, err = s.Log(ctx, "q", 0, 1)
	code(t, draw.CodePoolNotFound, err)
	_, err = s.ChangePool(ctx, "p", draw.PoolChange{State: &open}, "")
	code(t, draw.CodeInvalidRequest, err)
}

// testTimeHolds: an entry is never older than the one before it, even if the clock goes
// back. That holds for awards, moves and changes.
func testTimeHolds(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "p", 10)
	ahead := s.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	plan := Plan("p", 2, "a", 0, "d1")
	plan.Awards[0].At = ahead
	require.NoError(t, Write(t, s, stock.TxOptions{}, plan))

	u := readUrn(t, s, "p")
	require.Equal(t, ahead, u.At)
	next := u.Plan([]*urn.Ask{{Request: draw.Request{PoolID: "p", UserID: "u", DrawID: "d2", Count: 1}}}, s.Now())
	require.Equal(t, ahead, next.Awards[0].At)
	require.NoError(t, s.Write(ctx, next, stock.TxOptions{}))
	move, err := s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 1, Reason: "x"}, "test")
	require.NoError(t, err)
	require.Equal(t, ahead, move.At)
	paused := draw.StatePaused
	_, err = s.ChangePool(ctx, "p", draw.PoolChange{State: &paused}, "test")
	require.NoError(t, err)
	require.Len(t, linesOf(t, s, "p"), 6)
	NoViolations(t, s, "p")
}

// testRevisions: a change that names the allowed revisions changes nothing if the pool
// has another revision.
func testRevisions(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "p", 1)
	paused, open := draw.StatePaused, draw.StateOpen
	for _, wrong := range [][]int64{{}, {2}, {0, 3}} {
		_, err := s.ChangePool(ctx, "p", draw.PoolChange{State: &paused, Revisions: wrong}, "test")
		code(t, draw.CodeChangedMeanwhile, err)
	}
	p, err := s.ChangePool(ctx, "p", draw.PoolChange{State: &paused, Revisions: []int64{7, 1}}, "test")
	require.NoError(t, err)
	require.Equal(t, int64(3), p.Revision)
	_, err = s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 1, Reason: "x"}, "test")
	require.NoError(t, err)
	_, err = s.ChangePool(ctx, "p", draw.PoolChange{State: &open, Revisions: []int64{1}}, "test")
	code(t, draw.CodeChangedMeanwhile, err)
	_, err = s.ChangePool(ctx, "p", draw.PoolChange{State: &open, Revisions: []int64{3}}, "test")
	require.NoError(t, err, "a move is no change")
}

// testPoolLife: "closed" is final, "archived" hides a pool, and a pool that never
// issued a unit can be deleted.
func testPoolLife(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	for _, id := range []string{"p", "q", "r"} {
		Pool(t, s, id, 3)
	}
	open, closed, yes, no := draw.StateOpen, draw.StateClosed, true, false
	change := func(c draw.PoolChange) error {
		_, err := s.ChangePool(ctx, "p", c, "test")
		return err
	}
	ids := func(after string, limit int) (found []string) {
		pools, _, err := s.PoolPage(ctx, draw.PoolFilter{}, after, limit)
		require.NoError(t, err)
		for _, p := range pools {
			require.Len(t, p.Prizes, 1)
			found = append(found, p.ID)
		}
		return found
	}
	code(t, draw.CodePoolOpen, change(draw.PoolChange{Archived: &yes}))
	require.NoError(t, Write(t, s, stock.TxOptions{}, Plan("p", 2, "a", 0, "d1")))
	require.NoError(t, change(draw.PoolChange{State: &closed}))
	code(t, draw.CodePoolClosed, change(draw.PoolChange{State: &open}))
	require.NoError(t, change(draw.PoolChange{State: &closed}), "it is so already")
	require.Equal(t, []string{"p", "q", "r"}, ids("", 10))
	require.NoError(t, change(draw.PoolChange{Archived: &yes}))
	all, _, err := s.PoolPage(ctx, draw.PoolFilter{Archived: draw.ArchivedToo}, "", 10)
	require.NoError(t, err)
	require.Len(t, all, 3, "archived ones among them")
	require.True(t, all[0].Archived)
	require.Equal(t, []string{"q", "r"}, ids("", 10))
	require.Equal(t, []string{"q"}, ids("", 1))
	require.Equal(t, []string{"r"}, ids("q", 10))
	require.Empty(t, ids("r", 10))
	all, err = s.Pools(ctx)
	require.NoError(t, err)
	require.Len(t, all, 3, "audits see it")
	require.True(t, all[0].Archived)
	require.NoError(t, change(draw.PoolChange{Archived: &no}))
	require.Equal(t, []string{"p", "q", "r"}, ids("", 10))

	code(t, draw.CodeAlreadyIssued, s.DeletePool(ctx, "p", nil, "test"))
	NoViolations(t, s, "p")
	urn := readUrn(t, s, "q")
	last, err := s.Pool(ctx, "q")
	require.NoError(t, err)
	code(t, draw.CodeChangedMeanwhile, s.DeletePool(ctx, "q", []int64{last.Revision + 1}, "test"))
	require.NoError(t, s.DeletePool(ctx, "q", []int64{last.Revision}, "test"))
	code(t, draw.CodePoolNotFound, s.DeletePool(ctx, "q", nil, "test"))
	require.Equal(t, []string{"p", "r"}, ids("", 10))
	class(t, stock.ClassConflict, s.Write(ctx, On(urn, Plan("q", 2, "a", 0, "late")), stock.TxOptions{}))
	Pool(t, s, "q", 5)
	require.Equal(t, []string{`created {"name":"Pool q","state":"open","mode":null} by test`, "move a +5 by test"}, linesOf(t, s, "q"), "nothing is left of the first")
	class(t, stock.ClassConflict, s.Write(ctx, On(urn, Plan("q", 2, "a", 0, "late")), stock.TxOptions{}))
	_, err = s.CreatePool(ctx, draw.Pool{ID: "s", Name: "s", State: draw.StateClosed}, "test")
	code(t, draw.CodeInvalidRequest, err)
}

// testCorrections: the name and the value of a prize can be corrected before its first
// award, and draws use the corrected values.
func testCorrections(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "p", 3, 3)
	u := readUrn(t, s, "p")
	require.NoError(t, Write(t, s, stock.TxOptions{}, Plan("p", 3, "b", 0, "d1")))
	name, value := "Gold", decimal.RequireFromString("0.50")
	correct := func(prize string, c draw.PrizeChange) (draw.Prize, error) {
		return s.ChangePrize(ctx, "p", prize, c, "anna")
	}
	_, err := correct("b", draw.PrizeChange{Name: &name})
	code(t, draw.CodeAlreadyIssued, err)
	_, err = correct("zz", draw.PrizeChange{Name: &name})
	code(t, draw.CodePrizeNotFound, err)
	_, err = correct("a", draw.PrizeChange{})
	code(t, draw.CodeInvalidRequest, err)
	_, err = s.ChangePrize(ctx, "q", "a", draw.PrizeChange{Name: &name}, "anna")
	code(t, draw.CodePoolNotFound, err)
	p, err := correct("a", draw.PrizeChange{Name: &name, Value: &value})
	require.NoError(t, err)
	require.Equal(t, [2]string{"Gold", "0.50"}, [2]string{p.Name, p.Value.StringFixed(2)})
	_, err = correct("a", draw.PrizeChange{Name: &name})
	require.NoError(t, err, "it is so already")
	require.Equal(t, `prize {"name":"Gold","prize":"a","value":"0.50","was":{"name":"Prize a","value":"19.90"}} by anna`, linesOf(t, s, "p")[4])
	require.Len(t, linesOf(t, s, "p"), 5)
	_, err = s.CreatePool(ctx, draw.Pool{ID: "q", Name: "Q", Prizes: []draw.Prize{{ID: "none", Name: "N", Kind: draw.KindBlank, Stocked: 7}}}, "anna")
	require.NoError(t, err)
	_, err = s.ChangePrize(ctx, "q", "none", draw.PrizeChange{Name: &name, Value: &value}, "anna")
	code(t, draw.CodeInvalidRequest, err)
	require.Len(t, linesOf(t, s, "q"), 2, "a blank is worth nothing, and no half of the correction is made")
	NoViolations(t, s, "q")

	class(t, stock.ClassConflict, s.Write(ctx, On(u, Plan("p", 3, "a", 0, "late")), stock.TxOptions{}))
	tx, err := s.Read(ctx, u, stock.TxOptions{})
	require.NoError(t, err)
	tx.Rollback()
	asks := []*urn.Ask{{Request: draw.Request{PoolID: "p", UserID: "u", DrawID: "d2", Count: 5}}}
	for _, a := range u.Plan(asks, s.Now()).Awards {
		require.Equal(t, map[string]string{"a": "Gold 0.50", "b": "Prize b 19.90"}[a.PrizeID], a.PrizeName+" "+a.Value.StringFixed(2))
	}
	NoViolations(t, s, "p")
}
