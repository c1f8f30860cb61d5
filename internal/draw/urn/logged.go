package urn

import (
	"slices"
	"sync/atomic"

	"drawsvc/internal/draw"
)

// LogState is what the pool's log knows about a draw.
type LogState int32

const (
	// LogUnasked means that the draw has not been looked up in the log.
	LogUnasked LogState = iota
	// LogAsking means that it is unknown whether the log has the draw. Either a lookup
	// has no answer yet, or a write failed because the log has the name of some draw of
	// the batch.
	LogAsking
	// LogAbsent means that the log did not have the draw. A later lookup that gets no
	// answer does not change that: until the first answer, nothing had happened.
	LogAbsent
	// LogKnown means that the log has the draw.
	LogKnown
)

// LogAnswer is what the pool's log knows about one draw. State may be called at any
// time; everything else belongs to the goroutine that plans the draw.
type LogAnswer struct {
	state atomic.Int32
	known *draw.Draw
	// isCurrent reports whether the log answered after the pool was read for this plan.
	isCurrent bool
	// tried are the writes of this draw that may have been committed. If one of them
	// made the known draw, the draw is not a replay.
	tried []try
}

// try is a write of a draw: the head on which it is based, and the draw's first award.
type try struct {
	from  draw.Head
	first draw.Award
}

// State returns the last answer of the log.
func (l *LogAnswer) State() LogState { return LogState(l.state.Load()) }

// Ask records that a lookup has begun. An earlier answer stays valid until the lookup has
// a new one.
func (l *LogAnswer) Ask() { l.state.CompareAndSwap(int32(LogUnasked), int32(LogAsking)) }

// Meet records that a write failed because the log already has a name of its batch, which
// may be the name of this draw.
func (l *LogAnswer) Meet() {
	if l.State() != LogKnown {
		l.state.Store(int32(LogAsking))
	}
}

// Age records that the answer is outdated: a later plan must not use it (law 4).
func (l *LogAnswer) Age() { l.isCurrent = false }

// Known returns the draw that the log has, if the log was read for this plan, otherwise
// nil.
func (l *LogAnswer) Known() *draw.Draw {
	if l.isCurrent {
		return l.known
	}
	return nil
}

// Try records a write that may have been committed: the head on which it is based, and
// the draw's first award.
func (l *LogAnswer) Try(from draw.Head, first draw.Award) {
	l.tried = append(l.tried, try{from, first})
}

// IsTried reports whether a write of the draw may have been committed.
func (l *LogAnswer) IsTried() bool { return len(l.tried) > 0 }

// mayLandOn reports whether one of the writes that were tried may still be committed
// while the pool is at a head. Each of these writes starts from the head of its plan,
// so none of them can be committed after another change has moved the head.
func (l *LogAnswer) mayLandOn(head draw.Head) bool {
	return slices.ContainsFunc(l.tried, func(t try) bool {
		return t.from.Version == head.Version && t.from.Mark == head.Mark
	})
}

// made reports whether one of the writes that were tried made a draw in the log.
func (l *LogAnswer) made(known *draw.Draw) bool {
	return slices.ContainsFunc(l.tried, func(t try) bool {
		tried, k := &t.first, &known.Awards[0]
		return tried.Version == k.Version && tried.PrizeID == k.PrizeID && tried.Unit == k.Unit && tried.At.Equal(k.At)
	})
}

// Learn records the log's answer for this plan: the draws that it has, by their names.
func (a *Ask) Learn(known map[string]draw.Draw) {
	l, state := &a.Log, LogAbsent
	l.isCurrent, l.known = true, nil
	if d, ok := known[a.DrawID]; ok {
		l.known, state = &d, LogKnown
	}
	l.state.Store(int32(state))
}
