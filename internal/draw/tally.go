package draw

import (
	"slices"
	"time"
)

// Counted names a kind of turns that a user takes in a pool. Each kind has its
// own sequence, seq 1, 2, 3 … per user. Turns are written only while rules count
// their kind.
type Counted string

// The kinds. A prize's own is [CountedPrize]; a colon is in no id, so that a
// prize named win counts apart.
const (
	// CountedDraw is a unit that was asked for.
	CountedDraw Counted = "draw"
	// CountedWin is an award of kind prize.
	CountedWin Counted = "win"
	// CountedMiss is a unit that was asked for while a guarantee was in force.
	// Run is set on these alone. They are no draws: a limit of draws that comes
	// later must not count what was drawn before it.
	CountedMiss Counted = "miss"
)

// CountedPrize is an award of one prize.
func CountedPrize(prizeID string) Counted { return Counted("prize:" + prizeID) }

// Turn is the record that a unit of a user's counts.
type Turn struct {
	UserID  string
	Counted Counted
	// Seq is the place among the user's turns of the kind, from 1.
	Seq int64
	// Version is the one of the award.
	Version int64
	// Run is the number of misses in a row after the turn, of [CountedMiss].
	Run int64
	At  time.Time
}

// Need is what must be read of a user before requests can be planned: the last
// turn of a kind, with its seq s and its run, and the turns from seq s+1-Max to
// s+Units-Max. Where Max is 0 the last turn is enough.
type Need struct {
	UserID  string
	Counted Counted
	Max     int64
	// Units is how many units the user asks for.
	Units int64
}

// Needs lists what must be read of the users of requests under the rules in
// force: per user one need for each limit with a window, and one for each kind
// that has none. It is empty for rules that count nothing. Requests whose draw
// is known, or that are left out, need nothing.
func (u *Urn) Needs(asks []*Ask) []Need {
	counted := u.rules().Counted()
	if len(counted) == 0 {
		return nil
	}
	var users []string
	units := map[string]int64{}
	for _, a := range asks {
		if a.Skip || a.Log.Known() != nil {
			continue
		}
		if units[a.UserID] == 0 {
			users = append(users, a.UserID)
		}
		units[a.UserID] += int64(a.Count)
	}
	needs := make([]Need, 0, len(users)*len(counted))
	for _, user := range users {
		for _, c := range counted {
			before := len(needs)
			for _, l := range u.rules().Limits {
				if l.Counted() == c && !l.Per.IsEver() {
					needs = append(needs, Need{UserID: user, Counted: c, Max: l.Max, Units: units[user]})
				}
			}
			if len(needs) == before {
				needs = append(needs, Need{UserID: user, Counted: c, Units: units[user]})
			}
		}
	}
	return needs
}

// Facts are what was read of users. A user and a kind that were not read are
// not the same as one without turns: no draw is planned from them.
type Facts struct{ turns map[who]*turns }

type who struct {
	user    string
	counted Counted
}

// turns are those of one user and kind, as far as they were read.
type turns struct {
	// last is the seq of the last turn, 0 for none; run is its run.
	last, run int64
	// times are those of some turns, in order of seq.
	times []timeOf
}

type timeOf struct {
	seq int64
	at  time.Time
}

// NewFacts begins what is read for needs: no turns yet.
func NewFacts(needs []Need) *Facts {
	f := &Facts{turns: make(map[who]*turns, len(needs))}
	for _, n := range needs {
		f.begin(n.UserID, n.Counted)
	}
	return f
}

func (f *Facts) begin(user string, c Counted) *turns {
	t := f.turns[who{user, c}]
	if t == nil {
		t = &turns{}
		f.turns[who{user, c}] = t
	}
	return t
}

// Add adds a turn that was read. Turns come in any order, and more than once;
// the one with the highest seq is the last.
func (f *Facts) Add(t Turn) { f.begin(t.UserID, t.Counted).add(t) }

// Last is the seq of the last turn that was read of a user and kind, 0 for none.
func (f *Facts) Last(user string, c Counted) int64 {
	if t := f.turns[who{user, c}]; t != nil {
		return t.last
	}
	return 0
}

func (t *turns) add(turn Turn) {
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

// keep drops the times of all turns but the last max: what simulations and
// audits hold of each user.
func (t *turns) keep(maximum int64) {
	if n := int64(len(t.times)); n > 2*maximum {
		t.times = slices.Delete(t.times, 0, int(n-maximum))
	}
}

// tally is a user's turns of one kind as a plan goes on.
type tally struct {
	*turns
	// fresh is how many turns the plan has made; run is the run after them.
	fresh, run int64
}

// allows says whether k further turns after those of the plan are within a
// limit whose window starts at start and goes to the present. Of max turns and
// the k, the oldest is turn s+k-max, and it must lie before the window. Turns of
// the plan lie in every window.
func (t *tally) allows(k, maximum int64, start time.Time) bool {
	q := t.oldest(k, maximum)
	if q <= 0 {
		return true
	}
	at, known := t.at(q)
	return known && at.Before(start)
}

// oldest is the seq of the turn that has to leave the window for k further ones.
func (t *tally) oldest(k, maximum int64) int64 { return t.last + t.fresh + k - maximum }

// at is the time of a turn. It is false for a turn that the plan makes, and for
// one that was not read: that grants nothing.
func (t *tally) at(seq int64) (time.Time, bool) {
	if i, found := t.find(seq); found {
		return t.times[i].at, true
	}
	return time.Time{}, false
}

// retryAt is the first instant at which k further turns are within a limit that
// does not allow them now, the zero time for never.
func (t *tally) retryAt(k int64, l Limit, now time.Time, zone *time.Location) time.Time {
	if k > l.Max || l.Per.IsEver() {
		return time.Time{}
	}
	if l.Per.rolling == 0 {
		return l.Per.Next(now, zone)
	}
	at, known := t.at(t.oldest(k, l.Max))
	if !known {
		at = now
	}
	return at.Add(l.Per.rolling + time.Microsecond)
}
