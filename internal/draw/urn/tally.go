package urn

import (
	"slices"
	"time"

	"drawsvc/internal/draw"
)

// Need lists the turns of a subject and kind that must be known before requests can be
// planned. If s is the seq of the last turn, these are the last turn, with its run, and
// for each window the turns from seq s+1-window to s+Units-window.
type Need struct {
	Subject string
	Counted draw.Counted
	// Windows are the maxima of the limits that count the kind within a window.
	Windows []int64
	// Units is at least the number of requested units that count for the subject.
	Units int64
}

// leaving returns the range of the turns that may leave a window. It is empty if from is
// greater than upto.
func (n Need) leaving(last, window int64) (from, upto int64) {
	return max(last+1-window, 1), min(last+n.Units-window, last)
}

// Before returns the range of the turns that a window needs, without the last turn. It is
// empty if from is greater than upto.
func (n Need) Before(last, window int64) (from, upto int64) {
	from, upto = n.leaving(last, window)
	return from, min(upto, last-1)
}

// Needs lists the turns that must be known for requests under the rules in force, once
// for each subject and kind. The list is empty for rules that count nothing. Requests
// whose draw is known, or that are left out, need nothing. If plans may be made from the
// copy without a read, whole windows are needed, so that their turns can be cached.
func (u *Urn) Needs(asks []*Ask) []Need {
	counted := u.rules().Counted()
	if len(counted) == 0 {
		return nil
	}
	caches := u.IsCached()
	subjects, units := subjectsOf(asks, counted)
	needs := make([]Need, 0, len(subjects)*len(counted))
	for _, subject := range subjects {
		for i, c := range counted {
			if c.By() != subject.by {
				continue
			}
			w := &u.terms.windows[i]
			need := Need{Subject: subject.id, Counted: c, Windows: w.all, Units: units[subject]}
			if caches {
				need.Windows, need.Units = w.whole, max(need.Units, w.near)
			}
			needs = append(needs, need)
		}
	}
	return needs
}

// windows are the maxima of the limits that count one kind of turns within a window.
type windows struct {
	all []int64
	// near is the highest maximum up to wholeMax, 0 for none. whole has near, unless it
	// is 0, and all maxima above wholeMax. A whole window of near includes those of the
	// lower maxima.
	near  int64
	whole []int64
}

func windowsOf(c draw.Counted, limits []draw.Limit) (w windows) {
	for _, l := range limits {
		if l.Counted() != c || l.Per.IsEver() {
			continue
		}
		w.all = append(w.all, l.Max)
		if l.Max > wholeMax {
			w.whole = append(w.whole, l.Max)
		} else {
			//double:joins-shorter w.near = max(w.near, l.Max) => if w.near == 0 || l.Max < w.near { w.near = l.Max }
			w.near = max(w.near, l.Max)
		}
	}
	if w.near > 0 {
		w.whole = append(w.whole, w.near)
	}
	return w
}

// subject identifies a group of draws that are counted together, such as those of one
// user.
type subject struct {
	by draw.By
	id string
}

// subjectsOf lists the subjects for which requests count, in the order of the requests,
// and the number of requested units of each.
func subjectsOf(asks []*Ask, counted []draw.Counted) (all []subject, units map[subject]int64) {
	var kinds []draw.By
	for _, c := range counted {
		if !slices.Contains(kinds, c.By()) {
			kinds = append(kinds, c.By())
		}
	}
	units = map[subject]int64{}
	for _, a := range asks {
		if a.Skip || a.Log.Known() != nil {
			continue
		}
		for _, by := range kinds {
			of := subject{by, by.Of(a.Player())}
			if units[of] == 0 {
				all = append(all, of)
			}
			units[of] += int64(a.Count)
		}
	}
	return all, units
}

// Facts are the known turns of subjects. A subject and kind without facts may still have
// turns, so no draw is planned for that subject.
type Facts struct {
	turns map[who]*turns
	// supposed means that some turns are supposed.
	supposed bool
}

type who struct {
	subject string
	counted draw.Counted
}

// whoOf returns the subject for which a player's draws count as turns of a kind.
func whoOf(p draw.Player, c draw.Counted) who { return who{c.By().Of(p), c} }

// turns holds the turns of one subject and kind, as far as they are known. It does not
// change once it is part of facts.
type turns struct {
	// last is the seq of the last turn, 0 for none. run is the Run of that turn.
	last, run int64
	// times are the times of some turns, in order of seq.
	times []timeOf
	// supposed means that no read has shown that there are no turns.
	supposed bool
}

type timeOf struct {
	seq int64
	at  time.Time
}

// NewFacts returns facts for needs, without any turns yet.
func NewFacts(needs []Need) *Facts {
	f := &Facts{turns: make(map[who]*turns, len(needs))}
	for _, n := range needs {
		f.begin(who{n.Subject, n.Counted})
	}
	return f
}

func (f *Facts) begin(of who) *turns {
	t := f.turns[of]
	if t == nil {
		t = &turns{}
		f.turns[of] = t
	}
	return t
}

// Add adds a turn that was read. Turns may come in any order and repeatedly; the turn
// with the highest seq is the last one.
func (f *Facts) Add(t draw.Turn) { f.begin(who{t.Subject, t.Counted}).add(t) }

// Last returns the seq of the last turn that was read of a subject and kind, 0 for
// none.
func (f *Facts) Last(subject string, c draw.Counted) int64 {
	if t := f.turns[who{subject, c}]; t != nil {
		return t.last
	}
	return 0
}

// HasTurns reports whether any turn was read that a need names.
func (f *Facts) HasTurns(needs []Need) bool {
	return slices.ContainsFunc(needs, func(n Need) bool { return f.Last(n.Subject, n.Counted) > 0 })
}

func (t *turns) add(turn draw.Turn) {
	if turn.Seq > t.last {
		t.last, t.run = turn.Seq, turn.Run
	}
	i, found := t.find(turn.Seq)
	if !found {
		t.times = slices.Insert(t.times, i, timeOf{turn.Seq, turn.At})
	}
}

func (t *turns) find(seq int64) (int, bool) {
	if n := len(t.times); n == 0 || t.times[n-1].seq < seq {
		return n, false
	}
	return slices.BinarySearchFunc(t.times, seq, func(a timeOf, seq int64) int {
		switch {
		case a.seq < seq:
			return -1
		case a.seq > seq:
			return 1
		}
		return 0
	})
}

// covers reports whether the turns include all that a need names, and the time of the
// last one if a window may need it. Turns are numbered without gaps, so no turn can be
// missing unnoticed.
func (t *turns) covers(n Need) bool {
	for _, window := range n.Windows {
		for seq, upto := n.leaving(t.last, window); seq <= upto; seq++ {
			//double:trusts-truncated !found => !found && t == nil
			if _, found := t.find(seq); !found {
				return false
			}
		}
	}
	return true
}

// keep drops the times of all but the last maximum turns: simulations and audits keep
// no more of each subject.
func (t *turns) keep(maximum int64) {
	if n := int64(len(t.times)); n > 2*maximum {
		t.times = slices.Delete(t.times, 0, int(n-maximum))
	}
}

// tally is a subject's turns of one kind, including those of a plan. Players with the
// same subject share it.
type tally struct {
	who
	*turns
	// fresh is how many turns the plan has made. run is the run of misses after them.
	fresh, run int64
	// counts means that a decision has counted the turns.
	counts bool
}

// allows reports whether k further turns after those of the plan are within a limit whose
// window is from start to now. Let s be the seq of the last turn, including those of the
// plan. After k more turns, the newest maximum turns are those after turn s+k-maximum.
// Therefore, turn s+k-maximum must be before the window. Turns of the plan are in every
// window.
func (t *tally) allows(k, maximum int64, start time.Time) bool {
	t.counts = true
	q := t.oldest(k, maximum)
	if q <= 0 {
		return true
	}
	at, known := t.at(q)
	return known && at.Before(start)
}

// oldest returns the seq of the turn that must leave the window before k further turns
// are allowed.
//
//double:checks-each t.last + t.fresh + k => t.last + k
func (t *tally) oldest(k, maximum int64) int64 { return t.last + t.fresh + k - maximum }

// at returns the time of a turn. It returns false for a turn of the plan, and for a turn
// that was not read: such a turn never allows a draw.
func (t *tally) at(seq int64) (time.Time, bool) {
	if i, found := t.find(seq); found {
		return t.times[i].at, true
	}
	return time.Time{}, false
}

// retryAt returns the first instant at which the limit allows k further turns, the zero
// time for never. It is called if the limit does not allow them now.
func (t *tally) retryAt(k int64, l draw.Limit, now time.Time, zone *time.Location) time.Time {
	if k > l.Max || l.Per.IsEver() {
		return time.Time{}
	}
	if l.Per.Rolling() == 0 {
		return l.Per.Next(now, zone)
	}
	at, known := t.at(t.oldest(k, l.Max))
	if !known {
		at = now
	}
	return at.Add(l.Per.Rolling() + draw.TimeStep)
}
