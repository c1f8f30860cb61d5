package urn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// TestNothingIsPlannedPastADueItem: no plan comes before a due item. The test plans just
// before the item's time, and at that time. It uses the clock that was read from the
// database, its estimate, and a clock that was set back.
func TestNothingIsPlannedPastADueItem(t *testing.T) {
	opened := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	due := opened.Add(time.Minute)
	for name, c := range map[string]struct {
		last, dueAt, now time.Time
		read             bool
		at               time.Time
		waits, isDueAt   bool
	}{
		"no agenda":                  {last: opened, now: due, at: due},
		"before":                     {last: opened, dueAt: due, now: due.Add(-time.Microsecond), at: due.Add(-time.Microsecond)},
		"the estimate is ahead":      {last: opened, dueAt: due, now: due, at: due.Add(-time.Microsecond), isDueAt: true},
		"the estimate is far ahead":  {last: opened, dueAt: due, now: due.Add(time.Hour), at: due.Add(-time.Microsecond), isDueAt: true},
		"the database says due":      {last: opened, dueAt: due, now: due.Add(-time.Second), read: true, at: due.Add(-time.Second), waits: true, isDueAt: true},
		"entries have passed it":     {last: due.Add(time.Second), dueAt: due, now: opened, at: due.Add(time.Second), waits: true},
		"the last entry is just due": {last: due, dueAt: due, now: opened, at: due, waits: true},
	} {
		u := urn.NewUrn("p")
		require.True(t, u.Seen(urn.Snapshot{
			State: draw.StateOpen, Head: draw.NewHead().Next(1), At: c.last, DueAt: c.dueAt, Due: c.read,
			Prizes: []draw.Prize{{ID: "a", Stocked: 9}},
		}), name)
		require.Equal(t, c.isDueAt, u.IsDueAt(c.now), name)
		known := inLog(asking("known", 1), draw.Award{})
		p := u.Plan([]*urn.Ask{asking("new", 1), known}, c.now)
		require.Equal(t, c.waits, p.IsDue(), name)
		require.Equal(t, c.at, p.At, name)
		require.Equal(t, c.waits, len(p.Awards) == 0, name)
		answer, err := p.Answer(1)
		require.NoError(t, err, "a known draw waits for no item")
		require.True(t, answer.Replayed)
		p.Undo()
		refused := u.Plan([]*urn.Ask{asking("too many", 10)}, c.now)
		require.Equal(t, c.waits || c.isDueAt, refused.IsDue(), name)
		require.EqualValues(t, 9, u.Remaining(), name)
		if in, ok := p.DueIn(); ok {
			require.Equal(t, c.dueAt.Sub(p.At), in, name)
		}
		u.Invalidate()
		require.False(t, u.IsDueAt(due.Add(time.Hour)), name)
	}
}
