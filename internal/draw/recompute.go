package draw

import (
	"time"

	"github.com/shopspring/decimal"
)

// Recomputation decides a pool's draws again, from the entries of its log, in their
// order, and from the numbers of its versions. It is the code that decides
// draws: what [Recomputation.Next] says is what the service must have given.
type Recomputation struct{ *walk }

// NewRecomputation begins before the first entry. documents are all rules that the log
// puts in force, in any order: a limit that comes later counts turns from before.
func NewRecomputation(poolID string, source Source, documents []*Rules) *Recomputation {
	r := &Recomputation{newWalk(NewUrnFrom(poolID, source))}
	for _, d := range documents {
		r.expect(d)
	}
	return r
}

// Prize is a prize of the pool as it is now, nil where there is none.
func (r *Recomputation) Prize(id string) *Prize { return r.urn.prizeOf(id) }

func (u *Urn) prizeOf(id string) *Prize {
	place := u.placeOf(id)
	if place == none {
		return nil
	}
	p := u.prizes[place].prize()
	return &p
}

func (p *urnPrize) prize() Prize {
	kind := KindPrize
	if p.blank {
		kind = KindBlank
	}
	return Prize{ID: p.id, Name: p.name, Kind: kind, Value: p.value, Stocked: p.stocked, Issued: p.issued}
}

// AddPrize adds a prize behind the others. Errors: CodeInvalidRequest,
// CodePrizeExists.
func (r *Recomputation) AddPrize(p Prize) error {
	if r.urn.placeOf(p.ID) != none {
		return Errorf(CodePrizeExists, "there is a prize %q already", p.ID)
	}
	p.Issued = 0
	if err := p.Check(); err != nil {
		return err
	}
	r.urn.put(p)
	r.urn.setTerms(r.urn.rules())
	return nil
}

// Stock moves the stock of a prize. Errors: CodePrizeNotFound, CodeInvalidRequest,
// CodeStockBelowIssued.
func (r *Recomputation) Stock(prizeID string, delta int64) error {
	p := r.Prize(prizeID)
	if p == nil {
		return Errorf(CodePrizeNotFound, "there is no prize %q", prizeID)
	}
	if err := (&Stocking{Delta: delta}).Admit(p); err != nil {
		return err
	}
	switch p.Stocked += delta; {
	case delta == 0 || p.Stocked > StockMax:
		return Errorf(CodeInvalidRequest, "a move of %d units makes %d of prize %q", delta, p.Stocked, prizeID)
	case p.Stocked < p.Issued:
		return Errorf(CodeStockBelowIssued, "%d units of prize %q are issued, and %d remain stocked", p.Issued, prizeID, p.Stocked)
	}
	r.urn.put(*p)
	return nil
}

// Correct gives a prize another name and value. Errors: CodePrizeNotFound,
// CodeAlreadyIssued, CodeInvalidRequest.
func (r *Recomputation) Correct(prizeID, name string, value decimal.Decimal) error {
	p := r.Prize(prizeID)
	if p == nil {
		return Errorf(CodePrizeNotFound, "there is no prize %q", prizeID)
	}
	if p.Issued > 0 {
		return Errorf(CodeAlreadyIssued, "%d units of prize %q are issued", p.Issued, prizeID)
	}
	p.Name, p.Value = name, value
	if err := p.Check(); err != nil {
		return err
	}
	r.urn.put(*p)
	return nil
}

// SetRules puts rules in force at a time, nil for none. Error: CodeInvalidRequest
// for rules that do not fit the prizes.
func (r *Recomputation) SetRules(rules *Rules, at time.Time) error {
	if rules != nil {
		prizes := make([]Prize, len(r.urn.prizes))
		for i := range r.urn.prizes {
			prizes[i] = r.urn.prizes[i].prize()
		}
		if err := rules.Check(prizes); err != nil {
			return err
		}
	}
	r.setRules(rules, at)
	return nil
}

// Rules are those in force, nil for none.
func (r *Recomputation) Rules() *Rules { return r.urn.rules() }

// SetState says whether draws are open.
func (r *Recomputation) SetState(s State) { r.urn.State = s }

// Next is the award that a version makes for a request, of which it is the
// ordinal-th unit. Its gates see the request once, at its first unit; a ticket
// is taken as given. It takes nothing: [Recomputation.Take] does. Errors: what refuses
// the request.
func (r *Recomputation) Next(version int64, q Request, ordinal int, at time.Time) (Award, error) {
	p := r.plan
	r.urn.Version = version - 1
	r.begin(q.Player(), at)
	if r.urn.terms != nil {
		if _, err := p.countsOf(q.Player()); err != nil {
			return Award{}, err
		}
	}
	if ordinal == 1 {
		if err := p.refusal(&Ask{Request: withTicket(q, at)}); err != nil {
			return Award{}, err
		}
	}
	if !r.urn.hasFallback() && r.urn.remaining == 0 {
		return Award{}, ErrorSoldOut(r.urn.PoolID)
	}
	drawn := r.urn.pick(r.urn.numbers(version))
	place, why := p.outcome(drawn, p.players[q.Player()])
	prize := &r.urn.prizes[place]
	return Award{
		Version: version, DrawID: q.DrawID, Ordinal: ordinal, UserID: q.UserID, PrizeID: prize.id, PrizeName: prize.name,
		Value: prize.value, Blank: prize.blank, Unit: prize.issued + 1, At: p.At, Redirect: p.redirect(drawn, why),
	}, nil
}

func withTicket(q Request, at time.Time) Request {
	q.TicketUntil = at.Add(time.Hour)
	return q
}

// Take takes an award in as it stands, whoever decided it. Errors:
// CodePrizeNotFound, CodeSoldOut for a unit that the prize does not have, or
// that is not the next.
func (r *Recomputation) Take(a *Award) error {
	place := r.urn.placeOf(a.PrizeID)
	if place == none {
		return Errorf(CodePrizeNotFound, "there is no prize %q", a.PrizeID)
	}
	p := &r.urn.prizes[place]
	if a.Unit != p.issued+1 || a.Unit > p.stocked {
		return Errorf(CodeSoldOut, "unit %d of prize %q, of which %d of %d are issued", a.Unit, a.PrizeID, p.issued, p.stocked)
	}
	r.urn.Version = a.Version - 1
	r.begin(a.Player(), a.At)
	if r.urn.terms != nil {
		counts, err := r.plan.countsOf(a.Player())
		if err != nil {
			return err
		}
		r.plan.count(a.Version, counts, place)
	}
	r.urn.move(place, 1)
	r.settle()
	return nil
}
