package urn

import (
	"maps"

	"drawsvc/internal/draw"
)

// memory holds the turns of the subjects that were read or written last, as of the
// urn's head: a write that adds a turn moves the head. Turns that were used recently are
// in young, the others in old: when young is full, old is dropped.
type memory struct{ young, old map[who]*turns }

const (
	// memoryMax is how many subjects and kinds of turns each half of a memory holds.
	memoryMax = 1 << 15
	// memoryTimes is how many times of a subject's last turns a memory holds at least.
	memoryTimes = 4
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

// CachedTurns returns the number of subjects and kinds whose turns the urn caches.
func (u *Urn) CachedTurns() int { return len(u.memory.young) + len(u.memory.old) }

// Recall returns the cached turns among those that are needed, and the needs whose
// turns must be read.
func (u *Urn) Recall(needs []Need) (known *Facts, missing []Need) {
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

// CacheTurns adds turns that were read at the urn's head.
func (u *Urn) CacheTurns(read *Facts) {
	for of, t := range read.turns {
		t.keep(memoryTimes)
		u.memory.put(of, t)
	}
}

// cacheWritten adds the turns that moved the urn to its head.
func (u *Urn) cacheWritten(written []draw.Turn) {
	for _, turn := range written {
		of := who{turn.Subject, turn.Counted}
		t := u.memory.find(of)
		if t == nil {
			t = &turns{}
			u.memory.put(of, t)
		}
		t.add(turn)
		t.keep(memoryTimes)
	}
}

// covers reports whether the turns are all that a need names.
func (t *turns) covers(n Need) bool {
	from, upto := n.Window(t.last)
	for seq := from; seq <= upto; seq++ {
		if _, found := t.find(seq); !found {
			return false
		}
	}
	return true
}

// Join adds the turns of other facts.
func (f *Facts) Join(other *Facts) { maps.Copy(f.turns, other.turns) }

// HasTurns reports whether any subject has a turn.
func (f *Facts) HasTurns() bool {
	for _, t := range f.turns {
		if t.last > 0 {
			return true
		}
	}
	return false
}

// Suppose adds, for each need, that the subject has no turn of the kind. Only a plan
// that [Plan.ProvesSuppositions] may be written with them.
func (f *Facts) Suppose(needs []Need) {
	for _, n := range needs {
		f.turns[who{n.Subject, n.Counted}] = &turns{supposed: true}
	}
	f.supposed = true
}

// IsSupposed reports whether the plan supposes that subjects have no turns.
func (p *Plan) IsSupposed() bool { return p.facts != nil && p.facts.supposed }

// ProvesSuppositions reports whether the plan, once it is written, proves what it
// supposes. The turns of a subject are numbered from 1 without gaps. So turn 1 of a kind
// is written only if there was none, and then all decisions that counted this kind were
// right. A decision may also count a kind of which it makes no turn: if a budget
// withholds a prize, the award says so, although a limit may precede the budget.
func (p *Plan) ProvesSuppositions() bool {
	if !p.IsSupposed() {
		return true
	}
	for _, t := range p.tallies {
		//double:trusts-suppositions t.supposed && t.counts && t.fresh == 0 => t == nil
		if t.supposed && t.counts && t.fresh == 0 {
			return false
		}
	}
	return true
}
