package urn

import "drawsvc/internal/draw"

// Evict drops cached turns of a subject and kind. It keeps the last turn, and the times
// of the given number of turns. If times is negative, it drops all.
func (u *Urn) Evict(subject string, c draw.Counted, times int) {
	of := who{subject, c}
	t := u.memory.find(of)
	if t == nil {
		return
	}
	delete(u.memory.old, of)
	if times < 0 {
		delete(u.memory.young, of)
		return
	}
	less := *t
	less.times = less.times[max(0, len(less.times)-times):]
	u.memory.young[of] = &less
}
