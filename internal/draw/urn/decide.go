package urn

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"drawsvc/internal/draw"
)

// A draw whose name is not known passes gates, the urn and redirects, in this order.
// Gates may refuse it and use no random number. The urn gives a unit or nothing.
// Redirects never refuse: a unit that may not be given is replaced by the guaranteed
// prize or the fallback. A new rule is a function in one of the two lists below.

// gates lists the checks that may refuse a draw, in order.
func gates() [9]func(*Plan, *Ask) error {
	return [...]func(*Plan, *Ask) error{
		(*Plan).gateOpen, (*Plan).gateClock, (*Plan).gateReadable, (*Plan).gateCodes, (*Plan).gateFilled, (*Plan).gateTicket, (*Plan).gateBlocked, (*Plan).gateLimits, (*Plan).gateStock,
	}
}

// reason is a reason to withhold a prize that was drawn.
type reason struct {
	why   draw.Why
	holds func(p *Plan, place int, counts []*tally) bool
}

// reasons lists why a prize may be withheld, in order: the first that applies is
// recorded.
func reasons() [3]reason {
	return [...]reason{{draw.WhySoldOut, (*Plan).soldOut}, {draw.WhyLimit, (*Plan).limited}, {draw.WhyBudget, (*Plan).overBudget}}
}

// refusal checks a request by the gates in order, and returns the first refusal.
func (p *Plan) refusal(a *Ask) error {
	for _, gate := range gates() {
		if err := gate(p, a); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) gateOpen(a *Ask) error {
	if u := p.urn; u.State != draw.StateOpen {
		return u.refusal(a)
	}
	return nil
}

// gateReadable refuses draws under rules that this binary cannot read. Known draws do
// not pass the gates.
func (p *Plan) gateReadable(a *Ask) error { return p.urn.Readable(a.PoolID) }

// gateClock refuses draws of a pool that depends on time, while the time is not known.
func (p *Plan) gateClock(*Ask) error {
	if u := p.urn; u.Rules() != nil || !u.DueAt.IsZero() {
		return u.ClockLeapt
	}
	return nil
}

// gateCodes refuses draws of a pool with codes, while no code can be handed out.
func (p *Plan) gateCodes(*Ask) error {
	if u := p.urn; u.HasCodes() {
		return u.CodesAway
	}
	return nil
}

// Readable returns why the rules of the pool cannot be applied here, nil for rules that
// were read. Error: CodeRulesUnreadable.
func (u *Urn) Readable(poolID string) error {
	if why := u.rules().Unreadable(); why != nil {
		return draw.Unreadable("the rules of pool %q", why, poolID)
	}
	return nil
}

func (p *Plan) gateFilled(a *Ask) error {
	if u := p.urn; u.stocked == 0 && !u.hasFallback() {
		return draw.Errorf(draw.CodePoolNotOpen, "pool %q holds no unit yet", a.PoolID)
	}
	return nil
}

func (p *Plan) gateTicket(a *Ask) error {
	switch t := p.urn.terms; {
	case t == nil || !t.Tickets:
		return nil
	case a.TicketUntil.IsZero():
		return draw.Errorf(draw.CodeTicketRequired, "pool %q is drawn from with a ticket", a.PoolID)
	case !p.At.Before(a.TicketUntil):
		return draw.Errorf(draw.CodeTicketExpired, "the ticket expired at %s", a.TicketUntil.UTC().Format(draw.TimeFormat))
	}
	return nil
}

func (p *Plan) gateBlocked(a *Ask) error {
	if t := p.urn.terms; t != nil && t.Blocked[a.UserID] {
		return draw.Errorf(draw.CodeUserBlocked, "the user may not draw from pool %q", a.PoolID)
	}
	return nil
}

// gateLimits refuses a draw that exceeds a limit of draws. If several limits refuse it,
// the error names the limit that will be the last to allow the draw.
func (p *Plan) gateLimits(a *Ask) error {
	t := p.urn.terms
	if t == nil || len(t.counted) == 0 {
		return nil
	}
	counts, err := p.countsOf(a.Player())
	if err != nil {
		return err
	}
	var reached *draw.Reached
	for i := range t.limits {
		l := &t.limits[i]
		k := int64(a.Count)
		if l.Of != draw.LimitDraws || counts[l.counted].allows(k, l.Max, p.starts[i]) {
			continue
		}
		retryAt := counts[l.counted].retryAt(k, l.Limit, p.At, t.Zone)
		if reached == nil || !reached.RetryAt.IsZero() && (retryAt.IsZero() || retryAt.After(reached.RetryAt)) {
			reached = &draw.Reached{Limit: l.Limit, RetryAt: retryAt}
		}
	}
	if reached == nil {
		return nil
	}
	return limitReached(reached, a)
}

// limitReached returns the refusal of a draw that exceeds a limit.
func limitReached(r *draw.Reached, a *Ask) *draw.Error {
	per := "ever"
	if !r.Limit.Per.IsEver() {
		per = "per " + r.Limit.Per.String()
	}
	draws := "draws"
	if r.Limit.Max == 1 {
		draws = "draw"
	}
	e := draw.Errorf(draw.CodeLimitReached, "pool %q grants a %s %d %s %s", a.PoolID, r.Limit.By, r.Limit.Max, draws, per)
	e.Reached = r
	return e
}

func (p *Plan) gateStock(a *Ask) error {
	if p.urn.hasFallback() || p.urn.covers(a.Count) {
		return nil
	}
	return draw.ErrorSoldOut(a.PoolID)
}

func (u *Urn) hasFallback() bool { return u.terms != nil && u.terms.fallback != none }

// countsOf returns one tally of the player for each kind of turns that the rules count.
// Each tally has the turns that were read and those of the plan so far.
func (p *Plan) countsOf(player draw.Player) ([]*tally, error) {
	if counts, known := p.players[player]; known {
		return counts, nil
	}
	counted := p.urn.terms.counted
	counts, fresh := p.room(len(counted))
	for i, c := range counted {
		of := whoOf(player, c)
		if counts[i] = p.tallies[of]; counts[i] != nil {
			continue
		}
		read := p.absent
		if p.facts != nil {
			read = cmp.Or(p.facts.turns[of], read)
		}
		if read == nil {
			// Without these facts no draw may be granted.
			return nil, &draw.Error{Code: draw.CodeInternal, Detail: "the service failed; its log says why",
				Err: fmt.Errorf("the turns %q of a %s of pool %q were not read", c, c.By(), p.PoolID)}
		}
		fresh[i] = tally{who: of, turns: read, run: read.run}
		counts[i] = &fresh[i]
	}
	if p.players == nil {
		p.players, p.tallies = map[draw.Player][]*tally{}, map[who]*tally{}
	}
	p.players[player] = counts
	for _, t := range counts {
		p.tallies[t.who] = t
	}
	return counts, nil
}

// room returns memory for the tallies of a player.
func (p *Plan) room(n int) ([]*tally, []tally) {
	if p.absent == nil {
		return make([]*tally, n), make([]tally, n)
	}
	p.counts, p.fresh = slices.Grow(p.counts[:0], n)[:n], slices.Grow(p.fresh[:0], n)[:n]
	return p.counts, p.fresh
}

// pick decides which prize the urn gives, and returns its place, or none if the urn gives
// nothing.
func (u *Urn) pick(n Numbers) int {
	switch t := u.terms; {
	case t == nil:
	case t.Odds != nil:
		unit := n.Below(t.Odds.Of)
		if unit >= t.share {
			return none
		}
		return t.places[t.shares.find(unit)]
	case !t.Win.IsOne() && n.Below(t.Win.B) >= t.Win.A, u.remaining == 0 && t.fallback != none:
		return none
	}
	return u.units.find(n.Below(u.remaining))
}

// outcome applies moments and rules to a drawn unit. It returns the result, and the
// reason if the result differs. It takes no unit and no moment. A moment comes before
// everything else: neither the chance to win nor fixed odds apply to it.
func (p *Plan) outcome(drawn int, counts []*tally) (int, draw.Why) {
	if place := p.dueMoment(counts); place != none {
		return place, draw.WhyMoment
	}
	return p.ruledOutcome(drawn, counts)
}

// ruledOutcome is outcome for a draw that no moment applies to.
func (p *Plan) ruledOutcome(drawn int, counts []*tally) (int, draw.Why) {
	t := p.urn.terms
	if t == nil {
		return drawn, ""
	}
	final, why := drawn, draw.Why("")
	if drawn != none {
		if why = p.withheld(drawn, counts); why != "" {
			final = none
		}
	}
	if (final == none || p.urn.prizes[final].blank) && p.isGuaranteed(counts) {
		return t.guarantee, draw.WhyGuarantee
	}
	if final == none {
		final = t.fallback
	}
	return final, why
}

// isGuaranteed reports whether the guarantee is due, and not withheld.
func (p *Plan) isGuaranteed(counts []*tally) bool {
	t := p.urn.terms
	if t.guarantee == none {
		return false
	}
	miss := counts[t.miss]
	miss.counts = true
	return miss.run >= t.Guarantee.After && p.withheld(t.guarantee, counts) == ""
}

func (p *Plan) withheld(place int, counts []*tally) draw.Why {
	for _, r := range reasons() {
		if r.holds(p, place, counts) {
			return r.why
		}
	}
	return ""
}

func (p *Plan) soldOut(place int, _ []*tally) bool { return p.urn.prizes[place].weight() <= 0 }

// limited reports whether the player has reached a limit of wins or of the prize.
func (p *Plan) limited(place int, counts []*tally) bool {
	t := p.urn.terms
	if t == nil {
		return false
	}
	for i := range t.limits {
		l := &t.limits[i]
		if l.counts(place, &p.urn.prizes[place]) && l.Of != draw.LimitDraws &&
			!counts[l.counted].allows(1, l.Max, p.starts[i]) {
			return true
		}
	}
	return false
}

// overBudget reports whether the value of a prize exceeds the rest of the budget. It
// never withholds a prize without value, even if more than the budget was spent under
// former rules.
func (p *Plan) overBudget(place int, _ []*tally) bool {
	if p.urn.terms == nil {
		return false
	}
	b, cents := p.urn.terms.Budget, p.urn.prizes[place].cents
	return b != nil && cents > 0 && cents > b.Max-p.Spending.Cents
}

// counts reports whether an award of the prize at place is a turn that the limit
// counts.
func (l *placedLimit) counts(place int, prize *urnPrize) bool {
	switch l.Of {
	case draw.LimitDraws:
		return true
	case draw.LimitWins:
		return !prize.blank
	case draw.LimitPrize:
	}
	return l.place == place
}

// count records an award of the prize at place for its player. It updates the turns, the
// run of misses, and the spent amount.
func (p *Plan) count(version int64, counts []*tally, place int) {
	t, prize := p.urn.terms, &p.urn.prizes[place]
	if t.Budget != nil {
		p.Spending.Cents += prize.cents
	}
	done := uint32(0) // one bit for each kind of turns, because two limits may count the same kind
	for i := range t.limits {
		if l := &t.limits[i]; done&(1<<l.counted) == 0 && l.counts(place, prize) {
			done |= 1 << l.counted
			p.turn(version, counts[l.counted])
		}
	}
	if t.miss == none {
		return
	}
	miss := counts[t.miss]
	miss.run++
	//double:forgives !prize.blank => !prize.blank || p.Awards[len(p.Awards)-1].Redirect != nil
	if !prize.blank {
		miss.run = 0
	}
	p.turn(version, miss)
}

func (p *Plan) turn(version int64, t *tally) {
	//double:keeps-tallies t.fresh++ => t.last++
	t.fresh++
	p.Turns = append(p.Turns, draw.Turn{
		Subject: t.subject, Counted: t.counted, Seq: t.last + t.fresh, Version: version, Run: t.run, At: p.At,
	})
}

// begin prepares the plan for decisions at a time.
func (p *Plan) begin(now time.Time) {
	p.At, p.due, p.edge = p.urn.timeOf(now)
	t := p.urn.terms
	if t == nil {
		return
	}
	p.starts = p.starts[:0]
	for i := range t.limits {
		p.starts = append(p.starts, t.limits[i].Per.Start(p.At, t.Zone))
	}
	if t.Budget != nil {
		p.Spending = p.urn.spending.In(t.Budget, p.At, t.Zone)
	}
}

// refusal returns the error of a draw on a pool that is not open.
func (u *Urn) refusal(a *Ask) *draw.Error {
	e := draw.Errorf(draw.CodePoolNotOpen, "pool %q is %s", a.PoolID, u.State)
	if u.State == draw.StatePaused {
		e.Notice = u.pause.Notice
		if u.pause.RetryAfter > 0 {
			e.Code, e.RetryAfter = draw.CodePaused, u.pause.Wait()
		}
	}
	return e
}

// terms are rules with the places of their prizes in one urn.
type terms struct {
	*draw.Rules
	// counted are the kinds of turns that the rules count.
	counted []draw.Counted
	// windows are those of the limits of each kind, in the same order.
	windows   []windows
	fallback  int
	guarantee int
	// miss is the index of [CountedMiss] in counted, none without a guarantee.
	miss   int
	limits []placedLimit
	// places are the places of the prizes that have fixed odds. shareAt are their shares,
	// and shares the running sums of these, in the same order.
	places  []int
	shareAt []int64
	shares  fenwick
	// share is the sum of shares.
	share int64
	// prizes is the number of prizes of the urn for which the terms were made.
	prizes int
}

// placedLimit is a limit with the place of its prize, none if it has no prize. It also
// has the index of the kind of turns that it counts.
type placedLimit struct {
	draw.Limit
	place, counted int
}

// setTerms puts rules in force. If they are already in force, it does nothing unless
// there are new prizes.
func (u *Urn) setTerms(r *draw.Rules) {
	if r == nil {
		u.terms = nil
		return
	}
	//double:keeps-rules && u.terms.Rules == r && u.terms.prizes == len(u.prizes) =>
	if u.terms != nil && u.terms.Rules == r && u.terms.prizes == len(u.prizes) {
		return
	}
	t := &terms{Rules: r, counted: r.Counted(), fallback: u.placeOf(r.Fallback), guarantee: none, miss: none, prizes: len(u.prizes)}
	if r.Guarantee != nil {
		t.guarantee = u.placeOf(r.Guarantee.PrizeID)
		t.miss = slices.Index(t.counted, draw.CountedMiss)
	}
	for _, l := range r.Limits {
		t.limits = append(t.limits, placedLimit{Limit: l, place: u.placeOf(l.PrizeID), counted: slices.Index(t.counted, l.Counted())})
	}
	for _, c := range t.counted {
		t.windows = append(t.windows, windowsOf(c, r.Limits))
	}
	if r.Odds != nil {
		t.setOdds(u, r.Odds)
	}
	u.terms = t
}

// setOdds arranges the shares in the order in which the prizes were added.
func (t *terms) setOdds(u *Urn, odds *draw.FixedOdds) {
	for _, p := range odds.Prizes {
		if place := u.placeOf(p.PrizeID); place != none {
			t.places = append(t.places, place)
		}
	}
	slices.Sort(t.places)
	for _, place := range t.places {
		share := odds.ShareOf(u.prizes[place].id)
		t.shareAt = append(t.shareAt, share)
		t.share += share
	}
	t.shares = newFenwick(t.shareAt)
}

// numbered refuses draws of a committed pool whose seeds are unavailable or used up. It
// also refuses draws that request a receipt from a pool with secret numbers. It is not a
// gate, because it does not depend on the contents of the pool.
func (p *Plan) numbered(a *Ask) error {
	u := p.urn
	switch {
	case u.committed == 0 && a.Receipt:
		return draw.ErrorNoReceipt(a.PoolID)
	case u.committed == 0:
		return nil
	case u.secrets.Seeds == nil:
		return draw.Errorf(draw.CodeSeedUnavailable, "the seed of pool %q is not at hand here", a.PoolID)
	case a.Receipt && u.secrets.Signer == nil:
		return draw.Errorf(draw.CodeSeedUnavailable, "the key of pool %q is not at hand here, so no receipt", a.PoolID)
	case p.From.Version+int64(len(p.Awards)+a.Count) > u.secrets.Seeds.Last():
		return draw.Errorf(draw.CodeSeedsSpent, "the seeds that pool %q was committed to are used up", a.PoolID)
	}
	return nil
}
