package urn

import (
	"slices"
	"time"

	"drawsvc/internal/draw"
)

// Ask is a draw request plus what the log knows about it.
type Ask struct {
	draw.Request
	Log LogAnswer
	// Skip leaves the request out of the plan, because no caller waits for its answer.
	Skip bool
}

// Plan is the decision on a batch of requests. Its awards are based on the pool at From,
// and each makes one version. Its units are out of the urn until [Plan.Undo] returns
// them.
type Plan struct {
	PoolID string
	// From is the head on which the plan is based, and To is the head that its write
	// makes.
	From, To draw.Head
	// Awards are in order of version, From.Version+1 onwards.
	Awards []draw.Award
	// Raises sums the awards by prize, each prize once.
	Raises []Raise
	// At is the time of its awards, which is never before the pool's last entry.
	At time.Time
	// Turns are the turns of its awards, of every kind that the rules count, in order
	// of version.
	Turns []draw.Turn
	// Spending is the spent amount of the budget once the plan is written. It has no
	// meaning without a budget.
	Spending Spending
	// Takes are the moments that its awards take, in order of version.
	Takes []Taking

	urn *Urn
	// rules are the rules that its awards are made under, and secrets are those of its
	// numbers.
	rules   *draw.Rules
	secrets Secrets
	spends  bool
	// due means that an item of the agenda comes before the plan, and edge means that one
	// may. waits means that draws were left undecided for that reason.
	due, edge, waits bool
	facts            *Facts
	// absent are the turns that are assumed for a player without facts, nil if such a
	// player is granted no draw. A run assumes that such a player has no turns. Its plans
	// have one player, and they use counts and fresh as memory for the tallies.
	absent *turns
	counts []*tally
	fresh  []tally
	// players have a tally for each kind of turns that the rules count. tallies contains
	// each tally once, even if players share it.
	players map[draw.Player][]*tally
	tallies map[who]*tally
	// starts are the starts of the windows of the limits, at At.
	starts   []time.Time
	asks     []*Ask
	places   []int
	outcomes []outcome
}

// Raise is the number of units that a plan takes of one prize.
type Raise struct {
	PrizeID string
	Issued  int64
}

// outcome is the decision of a plan on the request at the same index.
type outcome struct {
	// first and end delimit the draw's awards in Plan.Awards.
	first, end int
	// known is the draw that the log has under this name.
	known *draw.Draw
	err   error
	// repeats means that an earlier request of the plan has the same name and the same
	// awards.
	repeats bool
}

// Plan decides every request against the urn, in order: a known name gets its first
// awards, a draw for which the urn has enough units gets them, and any other draw is
// refused. Nothing is written. Two requests with one name are one draw.
//
// Under rules that count, it plans only replays: see [Urn.PlanWith].
func (u *Urn) Plan(asks []*Ask, now time.Time) *Plan { return u.PlanWith(asks, nil, now) }

// PlanWith is Plan with the facts that [Urn.Needs] names. A request whose user's turns
// were not read ends with CodeInternal.
func (u *Urn) PlanWith(asks []*Ask, facts *Facts, now time.Time) *Plan {
	p := u.newPlan(asks)
	p.facts = facts
	p.begin(now)
	if p.due {
		return p.decideAll(p.wait)
	}
	p.decideAll(p.refusal)
	p.waitAtEdge()
	return p
}

// PlanReplays decides requests whose callers will not be granted new draws: a known name
// gets its first awards, and all others end with err.
func (u *Urn) PlanReplays(asks []*Ask, err error) *Plan {
	p := u.newPlan(asks)
	p.begin(time.Time{})
	return p.decideAll(func(*Ask) error { return err })
}

func (u *Urn) newPlan(asks []*Ask) *Plan {
	return &Plan{
		PoolID:   u.PoolID,
		From:     u.Head,
		Awards:   make([]draw.Award, 0, len(asks)),
		urn:      u,
		rules:    u.rules(),
		secrets:  u.secrets,
		asks:     asks,
		places:   make([]int, 0, len(asks)),
		outcomes: make([]outcome, len(asks)),
	}
}

func (p *Plan) decideAll(refusal func(*Ask) error) *Plan {
	asks := p.asks
	var named map[string]int // name → index of the first request with that name that gets awards
	for i, a := range asks {
		o := &p.outcomes[i]
		if a.Skip {
			continue
		}
		if j, ok := named[a.DrawID]; ok {
			*o = repeat(p.outcomes[j], &asks[j].Request, &a.Request)
			continue
		}
		p.decide(o, a, refusal)
		if a.Named && (o.end > o.first || o.known != nil) {
			if named == nil {
				named = make(map[string]int, len(asks))
			}
			named[a.DrawID] = i
		}
	}
	p.sum()
	p.spends = p.isSpending()
	if len(p.Awards) > 0 {
		p.To = p.From.Next(len(p.Awards))
	}
	return p
}

// decide sets the outcome of a request if no earlier request has its name.
func (p *Plan) decide(o *outcome, a *Ask, refusal func(*Ask) error) {
	if a.Log.Known() != nil {
		*o = replay(a)
		return
	}
	//double:refused-takes refusal(a); o.err != nil { => refusal(a); o.err != nil { if p.urn.HasMoments() { p.takeMoment(p.urn.moments[0].place, 0) }
	if o.err = refusal(a); o.err != nil {
		return
	}
	if o.err = p.numbered(a); o.err != nil {
		return
	}
	o.first = len(p.Awards)
	for ordinal := 1; ordinal <= a.Count; ordinal++ {
		p.take(&a.Request, ordinal)
	}
	o.end = len(p.Awards)
}

// take decides one unit and moves it from the urn to the plan.
func (p *Plan) take(r *draw.Request, ordinal int) {
	version := p.From.Version + int64(len(p.Awards)) + 1
	drawn := p.urn.pick(p.urn.numbers(version))
	counts := p.players[r.Player()] // the gates have added them
	place, why := p.outcome(drawn, counts)
	if why == draw.WhyMoment {
		p.takeMoment(place, version)
	}
	p.urn.move(place, 1)
	prize := &p.urn.prizes[place]
	p.places = append(p.places, place)
	award := draw.Award{
		Version:   version,
		DrawID:    r.DrawID,
		Ordinal:   ordinal,
		UserID:    r.UserID,
		PrizeID:   prize.id,
		PrizeName: prize.name,
		Value:     prize.value,
		Blank:     prize.blank,
		HasCode:   prize.hasCodes,
		Unit:      prize.issued,
		At:        p.At,
		Redirect:  p.redirect(drawn, why),
	}
	if p.urn.terms != nil {
		p.urn.terms.Claims.MarkClaim(&award)
	}
	p.Awards = append(p.Awards, award)
	if p.urn.terms != nil {
		p.count(version, counts, place)
	}
}

func (p *Plan) redirect(drawn int, why draw.Why) *draw.Redirect {
	switch {
	case why == "":
		return nil
	case drawn == none:
		return &draw.Redirect{Why: why}
	}
	return &draw.Redirect{Drawn: p.urn.prizes[drawn].id, Why: why}
}

// sum sets Raises.
func (p *Plan) sum() {
	at := make(map[int]int, min(len(p.places), len(p.urn.prizes)))
	for i, place := range p.places {
		j, ok := at[place]
		if !ok {
			j = len(p.Raises)
			at[place] = j
			p.Raises = append(p.Raises, Raise{PrizeID: p.Awards[i].PrizeID})
		}
		p.Raises[j].Issued++
	}
}

// Undo returns the plan's units to the urn. A second call does nothing.
func (p *Plan) Undo() {
	for i, place := range p.places {
		p.urn.putBack(place)
		if r := p.Awards[i].Redirect; r != nil && r.Why == draw.WhyMoment {
			p.urn.moments.move(place, -1)
		}
	}
	p.places = nil
}

// Settle records that the plan is written: the urn is now at the head that it made.
func (p *Plan) Settle() {
	if len(p.Awards) > 0 {
		p.urn.cacheTurns(p)
		p.urn.moveTo(p.To)
		p.urn.At = p.At
		if t := p.urn.terms; t != nil && t.Budget != nil {
			p.urn.spending = p.Spending
		}
	}
}

// Spends reports whether the plan, once it is written, changes the spent amount of a
// budget.
func (p *Plan) Spends() bool { return p.spends }

func (p *Plan) isSpending() bool {
	t, before := p.urn.rules(), p.urn.spending
	return t != nil && t.Budget != nil && len(p.Awards) > 0 &&
		(p.Spending.Cents != before.Cents || !p.Spending.From.Equal(before.From))
}

// IsPlain reports whether the plan writes only awards: no turns, no redirects and no
// spending.
func (p *Plan) IsPlain() bool {
	for i := range p.Awards { // by index: an award is too large to be copied for this
		if p.Awards[i].Redirect != nil {
			return false
		}
	}
	return len(p.Turns) == 0 && !p.Spends()
}

// Err returns why the i-th request is refused, nil if it is granted.
func (p *Plan) Err(i int) error { return p.outcomes[i].err }

// MayLand reports whether an earlier write of the i-th request may still be committed:
// the log does not have the draw, and the pool is as that write expects it. Then a
// refusal does not mean that nothing is drawn, even if the pool's row is locked: the
// write may not have arrived at the database yet.
func (p *Plan) MayLand(i int) bool {
	l := &p.asks[i].Log
	return l.Known() == nil && l.mayLandOn(p.From)
}

// Taken returns the awards that the plan makes for the i-th request.
func (p *Plan) Taken(i int) []draw.Award {
	o := &p.outcomes[i]
	return p.Awards[o.first:o.end:o.end]
}

// markKnown marks which awards of a known draw have codes, and which need a claim.
func (p *Plan) markKnown(d *draw.Draw) {
	if !p.urn.HasCodes() && p.urn.claimsFrom == 0 {
		return
	}
	d.Awards = slices.Clone(d.Awards) // two answers may share them
	for i := range d.Awards {
		a := &d.Awards[i]
		place, known := p.urn.places[a.PrizeID]
		//double:gives-codes-once p.urn.prizes[place].hasCodes => place < 0
		a.HasCode = known && p.urn.prizes[place].hasCodes
		if from := p.urn.claimsFrom; from == 0 || a.Version < from || a.Blank {
			continue
		}
		if t := p.urn.terms; t != nil && t.Version < a.Version && a.Version <= p.urn.Version && t.Unreadable() == nil {
			t.Claims.MarkClaim(a) // it was made under the rules in force
			continue
		}
		a.AsksClaims = true
	}
}

// Answer returns the answer to the i-th request once the plan is settled.
func (p *Plan) Answer(i int) (draw.Draw, error) {
	o, a := &p.outcomes[i], p.asks[i]
	switch {
	case o.err != nil:
		return draw.Draw{}, o.err
	case o.known != nil:
		known := *o.known
		p.markKnown(&known)
		known.Replayed, known.Receipt = known.Replayed || o.repeats, a.Receipt || p.urn.secrets.GivesReceipts
		return known, nil
	}
	made := draw.Draw{ID: a.DrawID, PoolID: a.PoolID, UserID: a.UserID, Replayed: o.repeats, Awards: p.Taken(i)}
	if a.Receipt || p.secrets.GivesReceipts {
		made.Receipt, made.Signer, made.Rules = true, p.secrets.Signer, p.rules
	}
	return made, nil
}

// IsDueAt reports whether an item of the pool's agenda is due at a time, so that
// nothing may be planned from the cached copy.
func (u *Urn) IsDueAt(now time.Time) bool {
	//double:late-ticker u.due || !u.DueAt.IsZero() && !now.Before(u.DueAt) => false
	return u.due || !u.DueAt.IsZero() && !now.Before(u.DueAt)
}

// IsDue reports whether the read found a due item of the pool's agenda.
func (u *Urn) IsDue() bool { return u.due }

// timeOf returns the time of a plan that is made now, and whether an item of the agenda
// comes before the plan. The time is never before that of the last entry, and always
// before that of the next item. edge means that the next item was not due when the pool
// was read, but is due by the estimated clock. The write then reads the clock itself.
func (u *Urn) timeOf(now time.Time) (at time.Time, due, edge bool) {
	if at = now.UTC().Truncate(draw.TimeStep); at.Before(u.At) {
		at = u.At
	}
	switch {
	case u.due:
		return at, true, false
	//double:late-ticker u.DueAt.IsZero() || at.Before(u.DueAt) => true
	case u.DueAt.IsZero() || at.Before(u.DueAt):
		return at, false, false
	case !u.At.Before(u.DueAt): // a clock that was set back
		return at, true, false
	}
	return u.DueAt.Add(-draw.TimeStep), false, true
}

// IsDue reports whether the plan has left draws undecided because an item of the pool's
// agenda comes first. Such a plan is undone.
func (p *Plan) IsDue() bool { return p.waits }

// wait leaves a draw undecided: after the due item, every gate may decide otherwise.
func (p *Plan) wait(a *Ask) error {
	p.waits = true
	return draw.Errorf(draw.CodeContended, "an item of the agenda of pool %q is due", a.PoolID)
}

// waitAtEdge leaves draws undecided that would be refused while an item may be due. A
// refusal is not written, so there is no write that would read the clock.
func (p *Plan) waitAtEdge() {
	for i := range p.outcomes {
		p.waits = p.waits || p.edge && p.outcomes[i].err != nil
	}
}

// DueIn returns how long after the plan the next item of the agenda is due; it returns
// false if there is none.
func (p *Plan) DueIn() (time.Duration, bool) {
	due := p.urn.DueAt
	return due.Sub(p.At), !due.IsZero()
}

// Unasked returns the names that callers chose and that the plan refuses before a lookup
// in the log. The log may have these names. Each name occurs once.
func (p *Plan) Unasked() []string {
	var names []string
	for i, a := range p.asks {
		if p.isUnasked(i) {
			//double:refuses-known names = append(names, a.DrawID) => _ = a
			names = append(names, a.DrawID)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Learn records the result of the lookup of names that were not looked up before the
// plan. A draw that the log has is replayed. That is safe because the plan refused it,
// so no other draw depends on its units.
func (p *Plan) Learn(known map[string]draw.Draw) {
	for i, a := range p.asks {
		if !p.isUnasked(i) {
			continue
		}
		if a.Learn(known); a.Log.Known() != nil {
			p.outcomes[i] = replay(a)
		}
	}
}

// isUnasked reports whether the i-th request is one whose name Unasked returns.
func (p *Plan) isUnasked(i int) bool {
	a := p.asks[i]
	return a.Named && !a.Log.isCurrent && p.Err(i) != nil
}

func replay(a *Ask) outcome {
	known := *a.Log.known
	if known.UserID != a.UserID || len(known.Awards) != a.Count {
		return outcome{err: errKeyReused(&a.Request)}
	}
	// If an earlier write of this request committed the draw, but the result was lost,
	// the draw is not a replay: its caller has not had an answer yet.
	known.Replayed = !a.Log.made(&known)
	return outcome{known: &known}
}

func repeat(first outcome, a, b *draw.Request) outcome {
	if a.UserID != b.UserID || a.Count != b.Count {
		return outcome{err: errKeyReused(b)}
	}
	first.repeats = true
	return first
}

func errKeyReused(r *draw.Request) error {
	return draw.Errorf(draw.CodeKeyReused, "the draw %q was asked for with another user or count", r.DrawID)
}
