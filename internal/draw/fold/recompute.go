package fold

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// Recomputation decides a pool's draws again, from the entries of its log, in their
// order, and from the numbers of its versions. It is the code that decides
// draws: what [Recomputation.Next] says is what the service must have given.
type Recomputation struct {
	urn *urn.Urn
	run *urn.Run
}

// NewRecomputation begins before the first entry. documents are all rules that the log
// puts in force, in any order: a limit that comes later counts turns from before.
func NewRecomputation(poolID string, source urn.Source, documents []*draw.Rules) *Recomputation {
	u := urn.NewUrnFrom(poolID, source)
	return &Recomputation{urn: u, run: urn.NewRun(u, documents)}
}

// Prize is a prize of the pool as it is now, nil where there is none.
func (r *Recomputation) Prize(id string) *draw.Prize { return r.run.Prize(id) }

// AddPrize adds a prize behind the others. Errors: CodeInvalidRequest,
// CodePrizeExists.
func (r *Recomputation) AddPrize(p draw.Prize) error {
	if r.Prize(p.ID) != nil {
		return draw.Errorf(draw.CodePrizeExists, "there is a prize %q already", p.ID)
	}
	p.Issued = 0
	if err := p.Check(); err != nil {
		return err
	}
	r.run.Put(p)
	return nil
}

// Stock moves the stock of a prize. Errors: CodePrizeNotFound, CodeInvalidRequest,
// CodeStockBelowIssued.
func (r *Recomputation) Stock(prizeID string, delta int64) error {
	p := r.Prize(prizeID)
	if p == nil {
		return draw.Errorf(draw.CodePrizeNotFound, "there is no prize %q", prizeID)
	}
	if err := (&draw.Stocking{Delta: delta}).Admit(p); err != nil {
		return err
	}
	switch p.Stocked += delta; {
	case delta == 0 || p.Stocked > draw.StockMax:
		return draw.Errorf(draw.CodeInvalidRequest, "a move of %d units makes %d of prize %q", delta, p.Stocked, prizeID)
	case p.Stocked < p.Issued:
		return draw.Errorf(draw.CodeStockBelowIssued, "%d units of prize %q are issued, and %d remain stocked", p.Issued, prizeID, p.Stocked)
	}
	r.run.Put(*p)
	return nil
}

// Correct gives a prize another name and value. Errors: CodePrizeNotFound,
// CodeAlreadyIssued, CodeInvalidRequest.
func (r *Recomputation) Correct(prizeID, name string, value decimal.Decimal) error {
	p := r.Prize(prizeID)
	if p == nil {
		return draw.Errorf(draw.CodePrizeNotFound, "there is no prize %q", prizeID)
	}
	if p.Issued > 0 {
		return draw.Errorf(draw.CodeAlreadyIssued, "%d units of prize %q are issued", p.Issued, prizeID)
	}
	p.Name, p.Value = name, value
	if err := p.Check(); err != nil {
		return err
	}
	r.run.Put(*p)
	return nil
}

// SetRules puts rules in force at a time, nil for none. Error: CodeInvalidRequest
// for rules that do not fit the prizes.
func (r *Recomputation) SetRules(rules *draw.Rules, at time.Time) error {
	if rules != nil {
		if err := rules.Check(slices.Collect(r.urn.EachPrize())); err != nil {
			return err
		}
	}
	r.run.SetRules(rules, at)
	return nil
}

// Rules are those in force, nil for none.
func (r *Recomputation) Rules() *draw.Rules { return r.urn.Rules() }

// SetState says whether draws are open.
func (r *Recomputation) SetState(s draw.State) { r.urn.State = s }

// Next is the award that a version makes for a request, of which it is the
// ordinal-th unit: see [urn.Run.Next]. It takes nothing: [Recomputation.Take] does.
// Errors: what refuses the request.
func (r *Recomputation) Next(version int64, q draw.Request, ordinal int, at time.Time) (draw.Award, error) {
	return r.run.Next(version, q, ordinal, at)
}

// Take takes an award in as it stands, whoever decided it. Errors:
// CodePrizeNotFound, CodeSoldOut for a unit that the prize does not have, or
// that is not the next.
func (r *Recomputation) Take(a *draw.Award) error {
	if p := r.Prize(a.PrizeID); p != nil && (a.Unit != p.Issued+1 || a.Unit > p.Stocked) {
		return draw.Errorf(draw.CodeSoldOut, "unit %d of prize %q, of which %d of %d are issued", a.Unit, a.PrizeID, p.Issued, p.Stocked)
	}
	return r.run.Take(a)
}
