package draw

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// under is the urn of an open pool whose rules are the document.
func under(t testing.TB, document string, prizes []Prize) *Urn {
	t.Helper()
	r := rulesOf(t, document)
	require.NoError(t, r.Check(prizes))
	u := NewUrn("p")
	require.True(t, u.Seen(Snapshot{State: StateOpen, Head: NewHead().Next(10), Prizes: prizes, Rules: r}))
	return u
}

func draw(id, user string, count int) *Ask {
	return &Ask{Request: Request{PoolID: "p", UserID: user, DrawID: id, Named: true, Count: count}}
}

// nobody is the facts of users without turns.
func nobody(u *Urn, asks ...*Ask) *Facts { return NewFacts(u.Needs(asks)) }

func refused(t *testing.T, want Code, err error) *Error {
	t.Helper()
	require.Equal(t, want, CodeOf(err), "%v", err)
	e, ok := errors.AsType[*Error](err)
	require.True(t, ok)
	return e
}

// noon is a time within an hour, a day, a week and a month.
func noon() time.Time { return time.Date(2026, 5, 20, 12, 0, 0, 0, time.UTC) }

// TestGates: each refuses by itself, before the ones that follow it, and a draw
// that is known passes all.
func TestGates(t *testing.T) {
	prizes := []Prize{{ID: "gold", Name: "Gold", Stocked: 1}}
	u := under(t, `{"tickets":true,"blocked":["bad"],"limits":[{"of":"draws","max":2,"per":"day"}]}`, prizes)
	ticket := func(a *Ask) *Ask { a.TicketUntil = noon().Add(time.Microsecond); return a }
	expired := func(a *Ask) *Ask { a.TicketUntil = noon(); return a }
	known := draw("known", "bad", 1)
	known.Known = &Draw{UserID: "bad", Awards: make([]Award, 1)}
	asks := []*Ask{
		draw("a", "bad", 3), expired(draw("b", "bad", 3)), ticket(draw("c", "bad", 3)), ticket(draw("d", "u", 3)), ticket(draw("e", "u", 2)),
		ticket(draw("f", "u", 1)), ticket(draw("g", "u", 2)), ticket(draw("h", "u", 1)), known,
	}
	p := u.PlanWith(asks, nobody(u, asks...), noon())
	for i, code := range []Code{
		CodeTicketRequired, CodeTicketExpired, CodeUserBlocked, CodeLimitReached, CodeSoldOut, "", CodeLimitReached, CodeSoldOut, "",
	} {
		require.Equal(t, code, CodeOf(p.Err(i)), "%d: %v", i, p.Err(i))
	}
	require.True(t, refused(t, CodeLimitReached, p.Err(3)).Reached.RetryAt.IsZero(), "three are never granted")
	require.Equal(t, noon().Add(12*time.Hour), refused(t, CodeLimitReached, p.Err(6)).Reached.RetryAt)
	require.Equal(t, LimitDraws, refused(t, CodeLimitReached, p.Err(6)).Reached.Limit.Of)
	d, err := p.Answer(8)
	require.NoError(t, err)
	require.True(t, d.Replayed)
	require.Len(t, p.Turns, 1)

	u.State = StatePaused
	p = u.PlanWith(asks, nobody(u, asks...), noon())
	require.Equal(t, CodePoolNotOpen, CodeOf(p.Err(0)), "before the ticket")

	require.Equal(t, CodePoolNotOpen, CodeOf(urnOf(0).Plan([]*Ask{draw("a", "u", 1)}, noon()).Err(0)))
	endless := NewUrn("p")
	endless.Seen(Snapshot{State: StateOpen, Head: NewHead(), Prizes: campaign()[4:]})
	require.Equal(t, CodePoolNotOpen, CodeOf(endless.Plan([]*Ask{draw("a", "u", 1)}, noon()).Err(0)), "an endless blank is no unit of the urn")
}

// TestGateNamesTheLastLimit: of several limits the one that opens last.
func TestGateNamesTheLastLimit(t *testing.T) {
	u := under(t, `{"limits":[{"of":"draws","max":1,"per":"hour"},{"of":"draws","max":1,"per":"month"},{"of":"draws","max":1,"per":"day"}]}`, campaign())
	asks := []*Ask{draw("a", "u", 1), draw("b", "u", 1)}
	p := u.PlanWith(asks, nobody(u, asks...), noon())
	reached := refused(t, CodeLimitReached, p.Err(1)).Reached
	require.Equal(t, perMonth, reached.Limit.Per.calendar)
	require.Equal(t, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), reached.RetryAt)
}

// TestPlanWithoutFacts: no draw is granted from what was not read.
func TestPlanWithoutFacts(t *testing.T) {
	u := under(t, `{"limits":[{"of":"draws","max":1}]}`, campaign())
	asks := []*Ask{draw("a", "u", 1), draw("b", "v", 1)}
	p := u.PlanWith(asks, nobody(u, asks[1]), noon())
	require.Equal(t, CodeInternal, CodeOf(p.Err(0)))
	require.NoError(t, p.Err(1))
	require.Equal(t, CodeInternal, CodeOf(u.Plan(asks, noon()).Err(0)))
}

// TestPlanTurns: what a plan counts, through a group draw and through a batch.
func TestPlanTurns(t *testing.T) {
	u := under(t, `{"fallback":"none","guarantee":{"after":2,"prize":"bronze"},"win":"1/1000000000",
		"limits":[{"of":"draws","max":9,"per":"day"},{"of":"draws","max":20},{"of":"wins","max":5},{"of":"prize","prize":"bronze","max":1}]}`, campaign())
	asks := []*Ask{draw("a", "u", 4), draw("b", "v", 1), draw("c", "u", 2)}
	f := nobody(u, asks...)
	f.Add(Turn{UserID: "u", Counted: CountedDraw, Seq: 3, At: noon().Add(-time.Hour)})
	f.Add(Turn{UserID: "u", Counted: CountedMiss, Seq: 3, Run: 1, At: noon().Add(-time.Hour)})
	p := u.PlanWith(asks, f, noon())
	var prizes []string
	for _, a := range p.Awards {
		prizes = append(prizes, a.PrizeID)
		require.Equal(t, a.PrizeID == "bronze", a.Win())
		require.Equal(t, a.Win(), a.Redirect != nil)
	}
	require.Equal(t, []string{"none", "bronze", "none", "none", "none", "none", "none"}, prizes, "bronze once, whatever is owed")
	require.Equal(t, &Redirect{Why: WhyGuarantee}, p.Awards[1].Redirect)
	type turn struct {
		user    string
		counted Counted
		seq     int64
		version int64
		run     int64
	}
	var got []turn
	for _, n := range p.Turns {
		require.Equal(t, p.At, n.At)
		got = append(got, turn{n.UserID, n.Counted, n.Seq, n.Version, n.Run})
	}
	require.Equal(t, []turn{
		{"u", CountedDraw, 4, 11, 0}, {"u", CountedMiss, 4, 11, 2},
		{"u", CountedDraw, 5, 12, 0}, {"u", CountedWin, 1, 12, 0}, {"u", CountedPrize("bronze"), 1, 12, 0}, {"u", CountedMiss, 5, 12, 0},
		{"u", CountedDraw, 6, 13, 0}, {"u", CountedMiss, 6, 13, 1},
		{"u", CountedDraw, 7, 14, 0}, {"u", CountedMiss, 7, 14, 2},
		{"v", CountedDraw, 1, 15, 0}, {"v", CountedMiss, 1, 15, 1},
		{"u", CountedDraw, 8, 16, 0}, {"u", CountedMiss, 8, 16, 3},
		{"u", CountedDraw, 9, 17, 0}, {"u", CountedMiss, 9, 17, 4},
	}, got)
}
