package hook

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

func stepAt(n, award, at int64, what draw.StepKind) Step {
	return Step{draw.Step{
		N: n, Award: award, PoolID: "p", What: what, DrawID: "d" + strconv.FormatInt(award, 10), Ordinal: 1, PrizeID: "a", At: time.Unix(at, 0),
	}, "u"}
}

// fill fills a page that begins at a place.
func fill(t *testing.T, at Place, r Reading) Page {
	t.Helper()
	p := Page{To: at}
	d := NewDeriver(&Start{PoolID: "p", Prizes: []draw.Prize{{ID: "a", Name: "A", Stocked: 99}}})
	require.NoError(t, p.Fill(context.Background(), d, &r))
	return p
}

// TestStepsFollowTheirAwards: steps are ordered by time, but never come before their
// awards. A second reading of the same range gives the same events in the same order.
func TestStepsFollowTheirAwards(t *testing.T) {
	t.Parallel()
	entries := []draw.Entry{awardAt(1, 1), awardAt(2, 2), awardAt(3, 3), awardAt(4, 4)}
	steps := []Step{ // before the third step, the clock was set back
		stepAt(1, 1, 3, draw.StepClaimed), stepAt(2, 1, 3, draw.StepShown), stepAt(3, 4, 1, draw.StepClaimed), stepAt(4, 2, 9, draw.StepVoided),
	}
	whole := fill(t, Place{}, Reading{Entries: entries, Steps: steps})
	require.Equal(t, Place{4, 4}, whole.To)
	var order []Place
	for _, e := range whole.Events {
		order = append(order, e.At)
	}
	require.Equal(t, []Place{{1, 0}, {2, 0}, {3, 0}, {3, 1}, {4, 2}, {4, 3}, {4, 4}}, order)
	require.Equal(t, []Type{TypeClaimed, TypeWon, TypeClaimed, TypeVoided},
		[]Type{whole.Events[3].Type, whole.Events[4].Type, whole.Events[5].Type, whole.Events[6].Type})
	places := append([]Place{{}, {3, 2}}, order...)
	for _, from := range places {
		for _, to := range places {
			if to.Version < from.Version || to.Step < from.Step {
				continue
			}
			part := fill(t, from, Reading{Entries: entries[from.Version:to.Version], Steps: steps[from.Step:to.Step]})
			require.Equal(t, to, part.To)
			require.Equal(t, eventsWithin(&whole, from, to), eventsWithin(&part, from, to))
			require.Equal(t, len(part.Events), len(eventsWithin(&part, from, to)))
		}
	}
}

// eventsWithin returns the bodies of a page's events after one place and up to another.
func eventsWithin(p *Page, from, to Place) (bodies []string) {
	for _, e := range p.Events {
		if e.At != from && e.At.Version >= from.Version && e.At.Step >= from.Step && e.At.Version <= to.Version && e.At.Step <= to.Step {
			bodies = append(bodies, string(e.Body))
		}
	}
	return bodies
}

// TestPagesEndWhereTheyKnow: a page ends where the next item is unknown. Otherwise, an
// entry's events could precede those of an earlier step that was not read, or the
// reverse.
func TestPagesEndWhereTheyKnow(t *testing.T) {
	t.Parallel()
	entries, late := []draw.Entry{awardAt(1, 1), awardAt(2, 2)}, stepAt(1, 1, 9, draw.StepClaimed)
	p := fill(t, Place{}, Reading{Entries: slices.Clone(entries), Steps: []Step{late}, HasMoreEntries: true})
	require.Equal(t, Place{2, 0}, p.To)
	p = fill(t, Place{}, Reading{Entries: slices.Clone(entries), Steps: []Step{stepAt(1, 1, 1, draw.StepShown)}, HasMoreSteps: true})
	require.Equal(t, Place{1, 1}, p.To)
	require.Len(t, p.Events, 1, "a code that was shown is no event, and holds no cursor")
}

// TestEventsOfSteps: the events of steps have the members of the specification. Erasing
// the user does not change their ids.
func TestEventsOfSteps(t *testing.T) {
	t.Parallel()
	s := stepAt(7, 2, 9, draw.StepFulfilled)
	s.Reference, s.Returned = "DHL 1", 8
	events := deriveStep(&s)
	require.Len(t, events, 1)
	require.Equal(t, `{"id":"`+newID("p", "step 7", "d2", "award.fulfilled", s.At)+`","type":"award.fulfilled","at":"1970-01-01T00:00:09.000000Z",`+
		`"step":7,"award":2,"draw":"d2","ordinal":1,"user":"u","prize":"a","reference":"DHL 1","returned":8}`, string(events[0].Body))
	before := StepID(&s.Step)
	s.Reference, s.Reason, s.UserID = "", "", "erased"
	require.Equal(t, before, StepID(&s.Step))
	s.DrawID = "another"
	require.NotEqual(t, before, StepID(&s.Step))
	require.NotEqual(t, PlaceID("e", before), PlaceID("e", StepID(&s.Step)))
	require.NotEqual(t, PlaceID("e", before), PlaceID("f", before))
	require.Equal(t, "e", PlaceID("e", ""))
}

// TestClaimsOfEvents: claims follow the rules at the award's version. If there is no
// deadline, claim_until is null.
func TestClaimsOfEvents(t *testing.T) {
	t.Parallel()
	within := &draw.Rules{Claims: &draw.Claims{Within: time.Hour}}
	require.Contains(t, string(eventsOf(t, 9, within, awardAt(2, 1))[0].Body), `"unit":1,"claim_until":"1970-01-01T01:00:02.000000Z"}`)
	within.Claims.Within = 0
	require.Contains(t, string(eventsOf(t, 9, within, awardAt(2, 1))[0].Body), `"unit":1,"claim_until":null}`)
	within.Claims.Prizes = []string{"b"}
	require.NotContains(t, string(eventsOf(t, 9, within, awardAt(2, 1))[0].Body), "claim_until")
	d := NewDeriver(&Start{PoolID: "p", Rules: draw.NewUnreadableRules(nil, context.Canceled, false)})
	_, err := d.Derive(context.Background(), awardAt(2, 1))
	require.Equal(t, draw.CodeRulesUnreadable, draw.CodeOf(err))
}
