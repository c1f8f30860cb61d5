package urn

import (
	"sort"
	"time"

	"drawsvc/internal/draw"
)

// Standing is a user's use of the limits of the rules in force.
type Standing struct {
	Limits []LimitStanding
	// Misses is the user's run of misses. GuaranteedIn is the number of draws up to the
	// one that is guaranteed: 1 for the next draw, 0 without a guarantee.
	Misses, GuaranteedIn int64
	Blocked              bool
}

// LimitStanding is a user's use of one limit.
type LimitStanding struct {
	draw.Limit
	// Used is at most Max, even if the limit was lowered. Left is the rest.
	Used, Left int64
	// ResetsAt is when Left increases by itself, the zero time for never or if nothing
	// is used.
	ResetsAt time.Time
}

// NeedsOf lists the turns of a player that [Urn.OutlookOf] and [Urn.Standing] need: at
// most Max turns for each limit with a window.
func (u *Urn) NeedsOf(p draw.Player) []Need {
	needs := u.Needs([]*Ask{{Request: requestOf(p, u.PoolID)}})
	for i := range needs {
		for _, window := range needs[i].Windows {
			needs[i].Units = max(needs[i].Units, window)
		}
	}
	return needs
}

// Outlook holds the possible results of the next draw of one unit. It uses no random
// number.
type Outlook struct {
	plan   *Plan
	counts []*tally
}

// Outlook returns the outlook, at a time, of a player who has no turns, has reached no
// limit and has missed nothing.
func (u *Urn) Outlook(at time.Time) Outlook {
	p := u.newPlan(nil)
	p.begin(at)
	var counts []*tally
	if u.terms != nil {
		counts = make([]*tally, len(u.terms.counted))
		for i := range counts {
			counts[i] = &tally{turns: &turns{}}
		}
	}
	return Outlook{p, counts}
}

// OutlookOf returns the outlook of a player at a time, from the facts that
// [Urn.NeedsOf] names. Errors: those that would refuse the draw, which is assumed to
// have a ticket.
func (u *Urn) OutlookOf(player draw.Player, facts *Facts, at time.Time) (Outlook, error) {
	p := u.newPlan(nil)
	p.facts = facts
	p.begin(at)
	if err := p.refusal(&Ask{Request: withTicket(requestOf(player, u.PoolID), p.At)}); err != nil {
		return Outlook{}, err
	}
	return Outlook{p, p.players[player]}, nil
}

// Given returns the id of the prize that a draw gets if the urn gives the prize drawn and
// no moment is pending. It is "" for nothing.
func (o Outlook) Given(drawn string) string {
	if place, _ := o.plan.ruledOutcome(o.plan.urn.placeOf(drawn), o.counts); place != none {
		return o.plan.urn.prizes[place].id
	}
	return ""
}

// Standing returns the standing of a player at a time, from the facts that
// [Urn.NeedsOf] names. Error: CodeInternal for facts that were not read.
func (u *Urn) Standing(player draw.Player, facts *Facts, at time.Time) (Standing, error) {
	t := u.terms
	if t == nil {
		return Standing{}, nil
	}
	p := u.newPlan(nil)
	p.facts = facts
	p.begin(at)
	counts, err := p.countsOf(player)
	if err != nil {
		return Standing{}, err
	}
	s := Standing{Blocked: t.Blocked[player.UserID]}
	for i := range t.limits {
		s.Limits = append(s.Limits, counts[t.limits[i].counted].standing(t.limits[i].Limit, p.At, t.Zone))
	}
	if t.miss != none {
		s.Misses = counts[t.miss].run
		s.GuaranteedIn = max(t.Guarantee.After-s.Misses, 0) + 1
	}
	return s, nil
}

func (t *tally) standing(l draw.Limit, at time.Time, zone *time.Location) LimitStanding {
	s := LimitStanding{Limit: l}
	start := l.Per.Start(at, zone)
	s.Left = int64(sort.Search(int(l.Max), func(k int) bool { return !t.allows(int64(k)+1, l.Max, start) }))
	s.Used = l.Max - s.Left
	if s.Used > 0 {
		s.ResetsAt = t.retryAt(s.Left+1, l, at, zone)
	}
	return s
}

// requestOf returns the request with which the player would draw one unit.
func requestOf(p draw.Player, poolID string) draw.Request {
	return draw.Request{PoolID: poolID, UserID: p.UserID, Count: 1}
}
