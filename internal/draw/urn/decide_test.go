package urn_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/urn"
)

// under returns the urn of an open pool with the document as its rules.
func under(t testing.TB, document string, prizes []draw.Prize) *urn.Urn {
	t.Helper()
	r := drawtest.Rules(t, document)
	require.NoError(t, r.Check(prizes))
	u := urn.NewUrn("p")
	require.True(t, u.Seen(urn.Snapshot{State: draw.StateOpen, Head: draw.NewHead().Next(10), Prizes: prizes, Rules: r}))
	return u
}

// nobody returns the facts of users without turns.
func nobody(u *urn.Urn, asks ...*urn.Ask) *urn.Facts { return urn.NewFacts(u.Needs(asks)) }

func refused(t *testing.T, want draw.Code, err error) *draw.Error {
	t.Helper()
	require.Equal(t, want, draw.CodeOf(err), "%v", err)
	e, ok := errors.AsType[*draw.Error](err)
	require.True(t, ok)
	return e
}

// noon returns a time in the middle of a day, a week and a month.
func noon() time.Time { return time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC) }

// TestGatesRefuseInOrder: each gate refuses by itself, before those after it, and a
// known draw passes all of them.
func TestGatesRefuseInOrder(t *testing.T) {
	prizes := []draw.Prize{{ID: "gold", Name: "Gold", Stocked: 1}}
	u := under(t, `{"tickets":true,"blocked":["bad"],"limits":[{"of":"draws","max":2,"per":"day"}]}`, prizes)
	ticket := func(a *urn.Ask) *urn.Ask { a.TicketUntil = noon().Add(time.Microsecond); return a }
	expired := func(a *urn.Ask) *urn.Ask { a.TicketUntil = noon(); return a }
	known := of("bad", asking("known", 1))
	known.Learn(map[string]draw.Draw{"known": {UserID: "bad", Awards: make([]draw.Award, 1)}})
	asks := []*urn.Ask{
		of("bad", asking("a", 3)), expired(of("bad", asking("b", 3))), ticket(of("bad", asking("c", 3))), ticket(asking("d", 3)), ticket(asking("e", 2)),
		ticket(asking("f", 1)), ticket(asking("g", 2)), ticket(asking("h", 1)), known,
	}
	p := u.PlanWith(asks, nobody(u, asks...), noon())
	for i, code := range []draw.Code{
		draw.CodeTicketRequired, draw.CodeTicketExpired, draw.CodeUserBlocked, draw.CodeLimitReached, draw.CodeSoldOut, "", draw.CodeLimitReached, draw.CodeSoldOut, "",
	} {
		require.Equal(t, code, draw.CodeOf(p.Err(i)), "%d: %v", i, p.Err(i))
	}
	require.True(t, refused(t, draw.CodeLimitReached, p.Err(3)).Reached.RetryAt.IsZero(), "three are never granted")
	require.Equal(t, noon().Add(12*time.Hour), refused(t, draw.CodeLimitReached, p.Err(6)).Reached.RetryAt)
	require.Equal(t, draw.LimitDraws, refused(t, draw.CodeLimitReached, p.Err(6)).Reached.Limit.Of)
	d, err := p.Answer(8)
	require.NoError(t, err)
	require.True(t, d.Replayed)
	require.Len(t, p.Turns, 1)

	u.State = draw.StatePaused
	p = u.PlanWith(asks, nobody(u, asks...), noon())
	require.Equal(t, draw.CodePoolNotOpen, draw.CodeOf(p.Err(0)), "before the ticket")

	require.Equal(t, draw.CodePoolNotOpen, draw.CodeOf(urnOf(draw.StateOpen, 0).Plan([]*urn.Ask{asking("a", 1)}, noon()).Err(0)))
	endless := urn.NewUrn("p")
	endless.Seen(urn.Snapshot{State: draw.StateOpen, Head: draw.NewHead(), Prizes: drawtest.Campaign()[4:]})
	require.Equal(t, draw.CodePoolNotOpen, draw.CodeOf(endless.Plan([]*urn.Ask{asking("a", 1)}, noon()).Err(0)), "an endless blank is no unit of the urn")
}

// TestGateNamesTheLastLimit: if several limits refuse a draw, the error names the one
// that will be the last to allow it.
func TestGateNamesTheLastLimit(t *testing.T) {
	u := under(t, `{"limits":[{"of":"draws","max":1,"per":"hour"},{"of":"draws","max":1,"per":"month"},{"of":"draws","max":1,"per":"day"}]}`, drawtest.Campaign())
	asks := []*urn.Ask{asking("a", 1), asking("b", 1)}
	p := u.PlanWith(asks, nobody(u, asks...), noon())
	reached := refused(t, draw.CodeLimitReached, p.Err(1)).Reached
	require.Equal(t, "month", reached.Limit.Per.String())
	require.Equal(t, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), reached.RetryAt)
}

// TestPlanWithoutFacts: no draw is granted from facts that were not read.
func TestPlanWithoutFacts(t *testing.T) {
	u := under(t, `{"limits":[{"of":"draws","max":1}]}`, drawtest.Campaign())
	asks := []*urn.Ask{asking("a", 1), of("v", asking("b", 1))}
	p := u.PlanWith(asks, nobody(u, asks[1]), noon())
	require.Equal(t, draw.CodeInternal, draw.CodeOf(p.Err(0)))
	require.NoError(t, p.Err(1))
	require.Equal(t, draw.CodeInternal, draw.CodeOf(u.Plan(asks, noon()).Err(0)))
}

// TestPlanTurns: a plan counts every unit of a draw, and every draw of a batch.
func TestPlanTurns(t *testing.T) {
	u := under(t, `{"fallback":"none","guarantee":{"after":2,"prize":"bronze"},"win":"1/1000000000",
		"limits":[{"of":"draws","max":9,"per":"day"},{"of":"draws","max":20},{"of":"wins","max":5},{"of":"prize","prize":"bronze","max":1}]}`, drawtest.Campaign())
	asks := []*urn.Ask{asking("a", 4), of("v", asking("b", 1)), asking("c", 2)}
	f := nobody(u, asks...)
	f.Add(draw.Turn{Subject: "u", Counted: draw.CountedDraw, Seq: 3, At: noon().Add(-time.Hour)})
	f.Add(draw.Turn{Subject: "u", Counted: draw.CountedMiss, Seq: 3, Run: 1, At: noon().Add(-time.Hour)})
	p := u.PlanWith(asks, f, noon())
	var prizes []string
	for _, a := range p.Awards {
		prizes = append(prizes, a.PrizeID)
		require.Equal(t, a.PrizeID == "bronze", a.Win())
		require.Equal(t, a.Win(), a.Redirect != nil)
	}
	require.Equal(t, []string{"none", "bronze", "none", "none", "none", "none", "none"}, prizes, "bronze once, whatever is owed")
	require.Equal(t, &draw.Redirect{Why: draw.WhyGuarantee}, p.Awards[1].Redirect)
	type turn struct {
		user    string
		counted draw.Counted
		seq     int64
		version int64
		run     int64
	}
	var got []turn
	for _, n := range p.Turns {
		require.Equal(t, p.At, n.At)
		got = append(got, turn{n.Subject, n.Counted, n.Seq, n.Version, n.Run})
	}
	require.Equal(t, []turn{
		{"u", draw.CountedDraw, 4, 11, 0}, {"u", draw.CountedMiss, 4, 11, 2},
		{"u", draw.CountedDraw, 5, 12, 0}, {"u", draw.CountedWin, 1, 12, 0}, {"u", draw.CountedPrize("bronze"), 1, 12, 0}, {"u", draw.CountedMiss, 5, 12, 0},
		{"u", draw.CountedDraw, 6, 13, 0}, {"u", draw.CountedMiss, 6, 13, 1},
		{"u", draw.CountedDraw, 7, 14, 0}, {"u", draw.CountedMiss, 7, 14, 2},
		{"v", draw.CountedDraw, 1, 15, 0}, {"v", draw.CountedMiss, 1, 15, 1},
		{"u", draw.CountedDraw, 8, 16, 0}, {"u", draw.CountedMiss, 8, 16, 3},
		{"u", draw.CountedDraw, 9, 17, 0}, {"u", draw.CountedMiss, 9, 17, 4},
	}, got)
}
