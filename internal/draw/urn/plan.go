package urn

import (
	"slices"
	"time"

	"drawsvc/internal/draw"
)

// Plan is what requests want written: awards made from the pool at From, each
// of which makes one version. Its units are out of the urn until [Plan.Undo]
// puts them back.
type Plan struct {
	PoolID string
	// From is the head that the plan was made from, To the one that its write
	// makes.
	From, To draw.Head
	// Awards are in order of version, From.Version+1 onwards.
	Awards []draw.Award
	// Raises sums the awards by prize, each prize once.
	Raises []Raise
	// At is the time of its awards: never before that of the pool's last entry.
	At time.Time
	// Turns are those that the awards are, of every kind that the rules count,
	// in order of version.
	Turns []draw.Turn
	// Spending is what was spent of the budget once the plan is written; it is
	// of no meaning where the rules have no budget.
	Spending Spending

	urn *Urn
	// rules are those that its awards are made under, secrets those of its numbers.
	rules   *draw.Rules
	secrets Secrets
	spends  bool
	// due says that an item of the agenda comes before the plan, edge that one
	// may, and waits that draws were left undecided for that.
	due, edge, waits bool
	facts            *Facts
	// players have a tally for each kind of turns that the rules count, tallies hold
	// each of them once.
	players map[draw.Player][]*tally
	tallies map[who]*tally
	// starts are those of the windows of the limits, at At.
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

// outcome is what a plan decided for the request at the same index.
type outcome struct {
	// first and end delimit the draw's awards in Plan.Awards.
	first, end int
	// known is the draw that the log holds under this name.
	known *draw.Draw
	err   error
	// repeats says that an earlier request of the plan has the same name and
	// the same awards.
	repeats bool
}

// Plan decides every request against the urn, one after another: a known name
// gets its first awards, a draw that the urn covers gets units of it, any other
// is refused. Nothing is written. Two requests of one name are one draw.
//
// Under rules that count, it plans nothing but replays: see [Urn.PlanWith].
func (u *Urn) Plan(asks []*Ask, now time.Time) *Plan { return u.PlanWith(asks, nil, now) }

// PlanWith is Plan with the facts that [Urn.Needs] names. A request whose user
// was not read ends with CodeInternal.
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

// PlanReplays decides requests that are given up: a known name gets its first
// awards, all others end with err.
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
	var named map[string]int // name → index of the first request that it gives awards
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

// decide fills in the outcome of a request whose name no earlier one has.
func (p *Plan) decide(o *outcome, a *Ask, refusal func(*Ask) error) {
	if a.Log.Known() != nil {
		*o = replay(a)
		return
	}
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

// take decides one unit and moves it from the urn into the plan.
func (p *Plan) take(r *draw.Request, ordinal int) {
	version := p.From.Version + int64(len(p.Awards)) + 1
	drawn := p.urn.pick(p.urn.numbers(version))
	counts := p.players[r.Player()] // the gates have put them there
	place, why := p.outcome(drawn, counts)
	p.urn.move(place, 1)
	prize := &p.urn.prizes[place]
	p.places = append(p.places, place)
	p.Awards = append(p.Awards, draw.Award{
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
	})
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

// sum fills in Raises.
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

// Undo returns the plan's units to the urn. Undone twice, it does nothing more.
func (p *Plan) Undo() {
	for _, place := range p.places {
		p.urn.putBack(place)
	}
	p.places = nil
}

// Settle says that the plan is written: the urn stands for the head that it
// made.
func (p *Plan) Settle() {
	if len(p.Awards) > 0 {
		p.urn.moveTo(p.To)
		p.urn.At = p.At
		if t := p.urn.terms; t != nil && t.Budget != nil {
			p.urn.spending = p.Spending
		}
	}
}

// Spends says that the plan, once it is written, changes what was spent of a
// budget.
func (p *Plan) Spends() bool { return p.spends }

func (p *Plan) isSpending() bool {
	t, before := p.urn.rules(), p.urn.spending
	return t != nil && t.Budget != nil && len(p.Awards) > 0 &&
		(p.Spending.Cents != before.Cents || !p.Spending.From.Equal(before.From))
}

// IsPlain says that the plan writes awards alone: no turns, no redirects and no
// spending.
func (p *Plan) IsPlain() bool {
	for i := range p.Awards { // by index: an award is too large to be copied for this
		if p.Awards[i].Redirect != nil {
			return false
		}
	}
	return len(p.Turns) == 0 && !p.Spends()
}

// Err says why the i-th request is refused, nil when it is not.
func (p *Plan) Err(i int) error { return p.outcomes[i].err }

// Taken are the awards that the plan makes for the i-th request.
func (p *Plan) Taken(i int) []draw.Award {
	o := &p.outcomes[i]
	return p.Awards[o.first:o.end:o.end]
}

// markCodes notes which awards of a known draw have codes.
func (p *Plan) markCodes(d *draw.Draw) {
	if !p.urn.HasCodes() {
		return
	}
	d.Awards = slices.Clone(d.Awards) // two answers may share them
	for i := range d.Awards {
		place, known := p.urn.places[d.Awards[i].PrizeID]
		d.Awards[i].HasCode = known && p.urn.prizes[place].hasCodes
	}
}

// Answer is the answer to the i-th request once the plan is settled.
func (p *Plan) Answer(i int) (draw.Draw, error) {
	o, a := &p.outcomes[i], p.asks[i]
	switch {
	case o.err != nil:
		return draw.Draw{}, o.err
	case o.known != nil:
		known := *o.known
		p.markCodes(&known)
		known.Replayed, known.Receipt = known.Replayed || o.repeats, a.Receipt || p.urn.secrets.GivesReceipts
		return known, nil
	}
	made := draw.Draw{ID: a.DrawID, PoolID: a.PoolID, UserID: a.UserID, Replayed: o.repeats, Awards: p.Taken(i)}
	if a.Receipt || p.secrets.GivesReceipts {
		made.Receipt, made.Signer, made.Rules = true, p.secrets.Signer, p.rules
	}
	return made, nil
}

// IsDueAt says that an item of the pool's agenda is due at a time, so that
// nothing may be planned from the cached copy.
func (u *Urn) IsDueAt(now time.Time) bool {
	//double:late-ticker u.due || !u.DueAt.IsZero() && !now.Before(u.DueAt) => false
	return u.due || !u.DueAt.IsZero() && !now.Before(u.DueAt)
}

// IsDue says that the read found an item of the pool's agenda to be due.
func (u *Urn) IsDue() bool { return u.due }

// timeOf is the time of a plan that is made now, and whether an item of the
// agenda comes before it. The time is never before that of the last entry. It
// is before the next item's: where the read found that item not to be due, and
// the estimate of the clock says otherwise, the plan is near the edge. The
// write then asks the clock itself.
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

// IsDue says that the plan has left draws undecided, because an item of the
// pool's agenda comes first. Such a plan is undone.
func (p *Plan) IsDue() bool { return p.waits }

// wait leaves a draw undecided: the item that is due may move every gate.
func (p *Plan) wait(a *Ask) error {
	p.waits = true
	return draw.Errorf(draw.CodeContended, "an item of the agenda of pool %q is due; nothing happened", a.PoolID)
}

// waitAtEdge has the draws wait that are refused near the edge of an item: a
// refusal is not written, so that no write asks the clock.
func (p *Plan) waitAtEdge() {
	for i := range p.outcomes {
		p.waits = p.waits || p.edge && p.outcomes[i].err != nil
	}
}

// DueIn is how long after the plan the next item of the agenda is due; it is
// false where there is none.
func (p *Plan) DueIn() (time.Duration, bool) {
	due := p.urn.DueAt
	return due.Sub(p.At), !due.IsZero()
}

// Unasked are the names that the plan refuses although the log may hold them:
// their callers chose them, and the log was not asked. No name is there twice.
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

// Learn notes what the log holds of the names that were unasked. A draw that it
// holds is replayed: it was refused, so that no other depends on its units.
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

// isUnasked reports whether a request is among those of Unasked.
func (p *Plan) isUnasked(i int) bool {
	a := p.asks[i]
	return a.Named && !a.Log.isCurrent && p.Err(i) != nil
}

func replay(a *Ask) outcome {
	known := *a.Log.known
	if known.UserID != a.UserID || len(known.Awards) != a.Count {
		return outcome{err: errKeyReused(&a.Request)}
	}
	// A draw that an earlier write of this request committed without hearing so
	// is no replay: its caller has not had an answer yet.
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
