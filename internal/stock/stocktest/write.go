package stocktest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// ways returns the options under which every guarantee must hold.
func ways() map[string]stock.TxOptions {
	return map[string]stock.TxOptions{
		"locked":   {Lock: true},
		"unlocked": {},
		"fenced":   {Fence: stock.Fence{Lock: "test:", Token: 7}},
	}
}

func class(t *testing.T, want stock.Class, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, stock.ClassOf(err), "%v", err)
}

func testWrite(t *testing.T, s *stock.Store) {
	for name, o := range ways() {
		id := "pool-" + name
		Pool(t, s, id, 10, 10)
		u := urn.NewUrn(id)
		tx, err := s.Read(t.Context(), u, o)
		require.NoError(t, err)
		require.Equal(t, int64(20), u.Remaining())
		require.Equal(t, int64(3), u.Version)
		plan := Plan(id, 3, "a", 0, "d1", "d2")
		plan.Awards = append(plan.Awards, draw.Award{Version: 6, DrawID: "d2", Ordinal: 2, UserID: "u", PrizeID: "b", Unit: 1, At: plan.Awards[0].At})
		plan.Raises = append(plan.Raises, urn.Raise{PrizeID: "b", Issued: 1})
		require.NoError(t, tx.Write(t.Context(), On(u, plan)))
		tx.Rollback()
		tx.Rollback()
		a := NoViolations(t, s, id)
		require.Equal(t, int64(6), a.Version)
		require.Equal(t, []int64{2, 1}, []int64{a.Prizes[0].Awards, a.Prizes[1].Awards})
		d, err := s.Draw(t.Context(), id, "d2")
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b"}, []string{d.Awards[0].PrizeID, d.Awards[1].PrizeID})
	}
	_, err := s.Read(t.Context(), urn.NewUrn("absent"), stock.TxOptions{})
	code(t, draw.CodePoolNotFound, err)
	_, err = s.Read(t.Context(), urn.NewUrn("absent"), stock.TxOptions{Lock: true})
	code(t, draw.CodePoolNotFound, err)
}

// testWriteGuard: a plan that is not from the pool's current version writes nothing.
func testWriteGuard(t *testing.T, s *stock.Store) {
	for name, o := range ways() {
		id := "pool-" + name
		Pool(t, s, id, 10)
		require.NoError(t, Write(t, s, o, Plan(id, 2, "a", 0, "d1")))
		for _, from := range []int64{0, 2, 4, 100} {
			err := Write(t, s, o, Plan(id, from, "a", 1, "late"))
			require.ErrorIs(t, err, stock.ErrConflict, "from version %d", from)
		}
		require.Equal(t, int64(1), NoViolations(t, s, id).Prizes[0].Awards)
		require.NoError(t, Write(t, s, o, Plan(id, 3, "a", 1, "late")), "the right version still works")
	}
}

// testWriteWhole: a plan that violates a rule of the schema writes nothing.
func testWriteWhole(t *testing.T, s *stock.Store) {
	for name, o := range ways() {
		id := "pool-" + name
		Pool(t, s, id, 2)
		err := Write(t, s, o, Plan(id, 2, "a", 0, "d1", "d2", "d3"))
		class(t, stock.ClassOther, err) // the CHECK refuses more issued than stocked
		err = Write(t, s, o, Plan(id, 2, "nothing", 0, "d1"))
		class(t, stock.ClassOther, err) // a prize that does not exist
		require.Equal(t, int64(2), NoViolations(t, s, id).Version)
		require.NoError(t, Write(t, s, o, Plan(id, 2, "a", 0, "d1", "d2")), "to the last unit")
		NoViolations(t, s, id)
	}
}

func testKnownKeys(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	for name, o := range ways() {
		id := "pool-" + name
		Pool(t, s, id, 10)
		Pool(t, s, id+"-other", 10)
		require.NoError(t, Write(t, s, o, Plan(id, 2, "a", 0, "d1", "d2")))
		err := Write(t, s, o, Plan(id, 4, "a", 2, "d3", "d2"))
		class(t, stock.ClassKnownKey, err)
		require.Equal(t, "known-key", err.Error(), "the key is not for the log")
		require.Equal(t, int64(4), NoViolations(t, s, id).Version)
		require.NoError(t, Write(t, s, o, Plan(id+"-other", 2, "a", 0, "d2")), "a key is of its pool")

		urn := urn.NewUrn(id)
		tx, err := s.Read(ctx, urn, o)
		require.NoError(t, err)
		known, err := tx.Draws(ctx, id, []string{"d1", "d9", "d2"})
		require.NoError(t, err)
		require.Len(t, known, 2)
		require.Equal(t, "Prize a", known["d2"].Awards[0].PrizeName)
		require.Equal(t, "u", known["d2"].UserID)
		require.True(t, known["d2"].Awards[0].Value.IsPositive())
		require.NoError(t, tx.Write(ctx, On(urn, Plan(id, 4, "a", 2, "d3"))), "the attempt goes on after the lookup")
		tx.Rollback()
	}
}

// testOrder: the awards of a draw are returned in the order of their ordinals, regardless
// of the order of prizes.
func testOrder(t *testing.T, s *stock.Store) {
	const n = 40
	Pool(t, s, "p", n, n, n)
	plan := &urn.Plan{PoolID: "p", From: draw.Head{Version: 4}}
	for _, id := range []string{"d1", "d2"} {
		for i := range n {
			plan.Awards = append(plan.Awards, draw.Award{
				Version: int64(5 + len(plan.Awards)), DrawID: id, Ordinal: i + 1, UserID: "u",
				PrizeID: []string{"c", "a", "b"}[i%3], Unit: int64(len(plan.Awards)), At: time.Now().UTC(),
			})
		}
	}
	for prize, units := range map[string]int64{"a": 26, "b": 26, "c": 28} {
		plan.Raises = append(plan.Raises, urn.Raise{PrizeID: prize, Issued: units})
	}
	require.NoError(t, Write(t, s, stock.TxOptions{}, plan))
	tx, err := s.Read(t.Context(), urn.NewUrn("p"), stock.TxOptions{})
	require.NoError(t, err)
	defer tx.Rollback()
	known, err := tx.Draws(t.Context(), "p", []string{"d1", "d2"})
	require.NoError(t, err)
	known["again"], err = s.Draw(t.Context(), "p", "d1")
	require.NoError(t, err)
	for _, d := range known {
		require.Len(t, d.Awards, n)
		for i, a := range d.Awards {
			require.Equal(t, i+1, a.Ordinal)
		}
	}
}

// testKeysExact: names that a lax collation would confuse are different draws.
func testKeysExact(t *testing.T, s *stock.Store) {
	Pool(t, s, "p", 10)
	keys := []string{"key", "KEY", "key ", " key", "key%", "kéy"[:1] + "ey."}
	for i, k := range keys {
		require.NoError(t, Write(t, s, stock.TxOptions{}, Plan("p", int64(2+i), "a", int64(i), k)), "%q", k)
	}
	for i, k := range keys {
		d, err := s.Draw(t.Context(), "p", k)
		require.NoError(t, err)
		require.Equal(t, int64(3+i), d.Awards[0].Version)
	}
}

// testFence: after a later holder of a lock has written, an earlier holder is refused, at
// the read and at the write. Another lock has its own count.
func testFence(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "p", 10)
	five := stock.TxOptions{Fence: stock.Fence{Lock: "lock", Token: 5}}
	u := urn.NewUrn("p")
	paused, err := s.Read(ctx, u, five)
	require.NoError(t, err)
	require.NoError(t, Write(t, s, stock.TxOptions{Fence: stock.Fence{Lock: "lock", Token: 6}}, Plan("p", 2, "a", 0, "d1")))
	class(t, stock.ClassConflict, paused.Write(ctx, On(u, Plan("p", 2, "a", 0, "d2"))))
	paused.Rollback()
	_, err = s.Read(ctx, urn.NewUrn("p"), five)
	require.ErrorIs(t, err, stock.ErrStaleToken)

	late, err := s.Read(ctx, u, stock.TxOptions{Fence: stock.Fence{Lock: "lock", Token: 6}})
	require.NoError(t, err)
	require.NoError(t, Write(t, s, stock.TxOptions{Fence: stock.Fence{Lock: "lock", Token: 8}}, Plan("p", 3, "a", 1, "d3")))
	late.Rollback()
	current := On(readUrn(t, s, "p"), Plan("p", 4, "a", 2, "d4"))
	class(t, stock.ClassConflict, s.Write(ctx, current, stock.TxOptions{Fence: stock.Fence{Lock: "lock", Token: 6}}))
	require.NoError(t, Write(t, s, stock.TxOptions{Fence: stock.Fence{Lock: "other", Token: 1}}, Plan("p", 4, "a", 2, "d5")))
	require.NoError(t, Write(t, s, stock.TxOptions{}, Plan("p", 5, "a", 3, "d6")), "other modes have no token")
	require.NoError(t, Write(t, s, stock.TxOptions{Fence: stock.Fence{Lock: "lock", Token: 9}}, Plan("p", 6, "a", 4, "d7")))
	require.ErrorIs(t, Write(t, s, stock.TxOptions{Fence: stock.Fence{Lock: "lock", Token: 1}}, Plan("p", 7, "a", 5, "d8")), stock.ErrStaleToken)
	require.NoError(t, Write(t, s, stock.TxOptions{Fence: stock.Fence{Lock: "lock", Token: 1, Reset: true}}, Plan("p", 7, "a", 5, "d8")), "the count begins again")
	require.NoError(t, Write(t, s, stock.TxOptions{Fence: stock.Fence{Lock: "lock", Token: 2}}, Plan("p", 8, "a", 6, "d9")))
	require.Equal(t, int64(7), NoViolations(t, s, "p").Prizes[0].Awards)
}

// testUrnFollows: an urn that was read before a change gets every part of it at the next
// read.
func testUrnFollows(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "p", 10, 10)
	urn := urn.NewUrn("p")
	read := func() {
		tx, err := s.Read(ctx, urn, stock.TxOptions{})
		require.NoError(t, err)
		tx.Rollback()
	}
	read()
	require.NoError(t, Write(t, s, stock.TxOptions{}, Plan("p", 3, "a", 0, "d1")))
	_, err := s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "b", Delta: -4, Reason: "x"}, "test")
	require.NoError(t, err)
	_, err = s.AddPrize(ctx, "p", draw.Prize{ID: "c", Name: "c", Stocked: 3}, "test")
	require.NoError(t, err)
	closed := draw.StateClosed
	_, err = s.ChangePool(ctx, "p", draw.PoolChange{State: &closed}, "test")
	require.NoError(t, err)
	read()
	require.Equal(t, int64(9+6+3), urn.Remaining())
	require.Equal(t, int64(7), urn.Version)
	require.Equal(t, draw.StateClosed, urn.State)
}

// testAnotherHistory: rows are reset to an earlier state and then drawn from. So they
// have the same version but another state. A plan from the lost state is rejected, and
// its cached copy is dropped.
func testAnotherHistory(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "p", 10, 10)
	u := readUrn(t, s, "p")
	lost := On(u, Plan("p", 3, "a", 0, "d1", "d2"))
	kept := Keep(t, s, "p")
	require.NoError(t, s.Write(ctx, lost, stock.TxOptions{}))
	copied := readUrn(t, s, "p")
	require.Equal(t, int64(5), copied.Version)

	kept.PutBack(t, s)
	require.NoError(t, Write(t, s, stock.TxOptions{}, Plan("p", 3, "b", 0, "d3", "d4")))
	require.Equal(t, int64(5), readUrn(t, s, "p").Version, "the same version")
	for name, o := range ways() {
		class(t, stock.ClassConflict, s.Write(ctx, On(copied, Plan("p", 5, "a", 2, name)), o))
	}
	for _, more := range []bool{false, true} { // at the same version, and at a higher one
		stale := urn.NewUrn("p")
		require.True(t, stale.Seen(urn.Snapshot{State: draw.StateOpen, Head: lost.To, Prizes: []draw.Prize{
			{ID: "a", Stocked: 10, Issued: 2}, {ID: "b", Stocked: 10},
		}}))
		if more {
			require.NoError(t, Write(t, s, stock.TxOptions{}, Plan("p", 5, "b", 2, "d5")))
		}
		tx, err := s.Read(ctx, stale, stock.TxOptions{})
		require.NoError(t, err)
		plan := On(stale, Plan("p", stale.Version, "a", 0, fmt.Sprint("after-", more)))
		tx.Rollback()
		require.Equal(t, readUrn(t, s, "p").Remaining(), stale.Remaining(), "read anew, whole")
		if more {
			require.NoError(t, s.Write(ctx, plan, stock.TxOptions{}))
		}
	}
	NoViolations(t, s, "p")
}

// testUrnAhead: if an urn is ahead of the history that the database has, the urn is
// dropped.
func testUrnAhead(t *testing.T, s *stock.Store) {
	Pool(t, s, "p", 10)
	u := urn.NewUrn("p")
	require.True(t, u.Seen(urn.Snapshot{Head: draw.NewHead().Next(50), Prizes: []draw.Prize{{ID: "a", Stocked: 1000}}}))
	tx, err := s.Read(t.Context(), u, stock.TxOptions{Lock: true})
	require.NoError(t, err)
	tx.Rollback()
	require.Equal(t, int64(10), u.Remaining(), "read anew, whole")
}

// testManyUnits: a batch with thousands of rows is written at once.
func testManyUnits(t *testing.T, s *stock.Store) {
	const n = 5000
	Pool(t, s, "p", n)
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("draw-%05d", i)
	}
	require.NoError(t, Write(t, s, stock.TxOptions{Lock: true}, Plan("p", 2, "a", 0, ids...)))
	require.Equal(t, int64(n), NoViolations(t, s, "p").Prizes[0].Awards)
}
