package urn

import (
	"slices"
	"time"

	"drawsvc/internal/draw"
)

// memory holds turns as they are at its head. It could be wrong in these ways:
//
//   - Another session wrote turns, new rules or an erasure, or the database is another
//     one: then the pool is at another head. Turns are recalled only if the cached copy
//     is at the memory's head, and the guarded write proves that the pool is, too. Only
//     the erasure of a committed pool's user moves no head. It needs a closed pool.
//   - A plan was undone, or its write is in doubt: only [Plan.Settle] adds turns and
//     moves the head.
//   - Turns are missing, because they were not read or are dropped: each turn is known
//     by its number, and the last number is known. If a number is missing that a need
//     names, the turns of its subject are not recalled.
//   - A kind has several windows: its need has all of them.
//   - Rules, the batch or the time differ: needs come from the rules in force and the
//     batch, and windows from the time of the plan. Nothing that follows from these is kept.
//   - Turns were supposed: they are kept only if the write proved them.
//
// Turns that were used recently are in young, the others in old: when young is full,
// old is dropped.
type memory struct {
	head       draw.Head
	young, old map[who]*turns
}

const (
	// memoryMax is how many subjects and kinds of turns each half of a memory holds.
	memoryMax = 1 << 16
	// wholeMax is the highest maximum of a limit whose whole window is cached.
	wholeMax = 16
)

func (m *memory) find(of who) *turns {
	t := m.young[of]
	if t == nil {
		if t = m.old[of]; t != nil {
			m.put(of, t)
		}
	}
	return t
}

func (m *memory) put(of who, t *turns) {
	if m.young == nil || len(m.young) >= memoryMax {
		m.young, m.old = map[who]*turns{}, m.young
	}
	m.young[of] = t
}

// CachedTurns returns the number of subjects and kinds whose turns are cached.
func (u *Urn) CachedTurns() int { return len(u.memory.young) + len(u.memory.old) }

// Recall returns the cached turns for the needs that they cover, and the other
// needs. A plan from them must be proved by the guarded write: a draw is refused only
// from turns that were read (law 4).
func (u *Urn) Recall(needs []Need) (known *Facts, missing []Need) {
	//double:keeps-old-turns !u.memory.head.Is(u.Head) => false
	if !u.memory.head.Is(u.Head) {
		u.memory = memory{head: u.Head}
	}
	known = &Facts{turns: make(map[who]*turns, len(needs))}
	for _, n := range needs {
		of := who{n.Subject, n.Counted}
		if t := u.memory.find(of); t != nil && t.covers(n) {
			known.turns[of] = t
		} else {
			missing = append(missing, n)
		}
	}
	return known, missing
}

// RecallsAny reports whether any turn that the needs name is cached.
func (u *Urn) RecallsAny(needs []Need) bool {
	return slices.ContainsFunc(needs, func(n Need) bool { return u.memory.find(who{n.Subject, n.Counted}) != nil })
}

// DropTurns drops the cached turns.
func (u *Urn) DropTurns() { u.memory = memory{} }

// cacheTurns adds the turns of a plan that is written, and moves the memory to the head
// that the plan made.
func (u *Urn) cacheTurns(p *Plan) {
	if !u.memory.head.Is(p.From) {
		u.memory = memory{}
	}
	u.memory.head = p.To
	for _, counts := range p.players {
		for i, t := range counts {
			if !t.supposed || t.fresh > 0 {
				u.memory.put(t.who, t.after(p.At, u.terms.windows[i].near))
			}
		}
	}
}

// after returns the turns as they are once those of the plan are written. It keeps the
// times of the last turns, up to the given number.
func (t *tally) after(at time.Time, most int64) *turns {
	after := &turns{last: t.last + t.fresh, run: t.run}
	for seq := max(after.last-most, 0) + 1; seq <= after.last; seq++ {
		if i, found := t.find(seq); found {
			after.times = append(after.times, t.times[i])
		} else if seq > t.last {
			after.times = append(after.times, timeOf{seq, at})
		}
	}
	return after
}

// Suppose adds, for each need, that the subject has no turn of the kind. Only a plan
// that [Plan.ProvesSuppositions] may be written with them.
func (f *Facts) Suppose(needs []Need) {
	for _, n := range needs {
		f.turns[who{n.Subject, n.Counted}] = &turns{supposed: true}
		f.supposed = true
	}
}

// IsSupposed reports whether the plan supposes that subjects have no turns.
func (p *Plan) IsSupposed() bool { return p.facts != nil && p.facts.supposed }

// ProvesSuppositions reports whether the plan, once it is written, proves what it
// supposes. The turns of a subject are numbered from 1 without gaps. So turn 1 of a kind
// is written only if there was none, and then all decisions that counted this kind were
// right. A decision may also count a kind without making a turn of it. For example, an
// award states that the budget withheld a prize. It states that only if no limit did, but
// no turn proves this.
func (p *Plan) ProvesSuppositions() bool {
	for _, t := range p.tallies {
		//double:trusts-suppositions t.supposed && t.counts && t.fresh == 0 => t == nil
		if t.supposed && t.counts && t.fresh == 0 {
			return false
		}
	}
	return true
}
