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

// testRefused: if a plan refuses a draw that the log holds, the write answers that draw
// from the log, with or without awards in the plan.
func testRefused(t *testing.T, s *stock.Store) {
	for name, o := range ways() {
		id := "pool-" + name
		Pool(t, s, id, 10)
		require.NoError(t, Write(t, s, o, Plan(id, 2, "a", 0, "old")))
		for _, last := range []int{9, 1} {
			u := urn.NewUrn(id)
			tx, err := s.Read(t.Context(), u, o)
			require.NoError(t, err)
			asks := []*urn.Ask{{Request: draw.Request{PoolID: id, UserID: "u", DrawID: fmt.Sprint("last-", last), Count: last}}}
			for _, key := range []string{"old", "new", "old"} {
				asks = append(asks, &urn.Ask{Request: draw.Request{PoolID: id, UserID: "u", DrawID: key, Named: true, Count: 1}})
			}
			p := u.Plan(asks, time.Now())
			require.NoError(t, tx.Write(t.Context(), p))
			tx.Rollback()
			for _, i := range []int{1, 3} {
				old, err := p.Answer(i)
				require.NoError(t, err)
				require.True(t, old.Replayed)
				require.Equal(t, int64(3), old.Awards[0].Version)
			}
			_, err = p.Answer(2)
			require.Equal(t, draw.CodeSoldOut, draw.CodeOf(err))
		}
		require.Equal(t, int64(10), NoViolations(t, s, id).Prizes[0].Awards)
	}
}
