package stocktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// testPauses: a refused draw gets the message of the current pause, never that of an
// earlier pause, whatever was read of the pool before.
func testPauses(t *testing.T, s *stock.Store) {
	Pool(t, s, "p", 10)
	state := func(to draw.State, p *draw.Pause) int64 {
		t.Helper()
		changed, err := s.ChangePool(t.Context(), "p", draw.PoolChange{State: &to, Pause: p}, "test")
		require.NoError(t, err)
		require.Equal(t, to, changed.State)
		return changed.Version
	}
	kept := map[string]*urn.Urn{}
	for way := range ways() {
		kept[way] = urn.NewUrn("p")
	}
	hears := func(code draw.Code, notice string, least, most time.Duration) {
		t.Helper()
		for way, o := range ways() {
			for _, urn := range []*urn.Urn{kept[way], urn.NewUrn("p")} {
				tx, err := s.Read(t.Context(), urn, o)
				require.NoError(t, err)
				tx.Rollback()
				e := refusedAs(t, urn)
				require.Equal(t, code, e.Code, "%s", way)
				require.Equal(t, notice, e.Notice)
				require.GreaterOrEqual(t, e.RetryAfter, least)
				require.LessOrEqual(t, e.RetryAfter, most)
			}
		}
	}
	paused, open := draw.StatePaused, draw.StateOpen
	long := &draw.Pause{RetryAfter: 5 * time.Minute, Notice: "back <soon> é", Reason: "restore"}
	at := state(paused, long)
	hears(draw.CodePaused, long.Notice, 12*time.Second, time.Minute)
	require.Equal(t, at, state(paused, long), "the request may be one that comes again")
	require.Equal(t, at, state(paused, nil))
	hears(draw.CodePaused, long.Notice, 12*time.Second, time.Minute)
	_, err := s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 1, Reason: "x"}, "test")
	require.NoError(t, err)
	hears(draw.CodePaused, long.Notice, 12*time.Second, time.Minute)
	require.Equal(t, at+2, state(paused, &draw.Pause{RetryAfter: 10 * time.Second}))
	hears(draw.CodePaused, "", 2*time.Second, 10*time.Second)
	state(paused, &draw.Pause{Notice: "for good"})
	hears(draw.CodePoolNotOpen, "for good", 0, 0)
	state(open, nil)
	state(paused, nil)
	hears(draw.CodePoolNotOpen, "", 0, 0)
	NoViolations(t, s, "p")
	for _, bad := range []*draw.Pause{{RetryAfter: time.Millisecond}, {RetryAfter: 25 * time.Hour}, {RetryAfter: -time.Second}, {Notice: "\n"}} {
		_, err := s.ChangePool(t.Context(), "p", draw.PoolChange{State: &paused, Pause: bad}, "test")
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%v", bad)
	}
	_, err = s.ChangePool(t.Context(), "p", draw.PoolChange{State: &open, Pause: long}, "test")
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err))
}

// refusedAs returns the error with which an urn that was read refuses a draw.
func refusedAs(t *testing.T, u *urn.Urn) *draw.Error {
	t.Helper()
	ask := &urn.Ask{Request: draw.Request{PoolID: u.PoolID, UserID: "u", DrawID: "new", Count: 1}}
	var e *draw.Error
	require.ErrorAs(t, u.Plan([]*urn.Ask{ask}, time.Now()).Err(0), &e)
	return e
}
