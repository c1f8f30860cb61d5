package fold

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// Recomputation decides a pool's draws again. It reads the entries of the pool's log in
// order, and the numbers of its versions, and uses the code that decides draws. The award
// that [Recomputation.Next] returns is the one that the service must have made.
type Recomputation struct {
	urn *urn.Urn
	run *urn.Run
}

// NewRecomputation returns a recomputation before the first entry. documents are all
// rules that the log puts in force, in any order: they are needed because a later limit
// counts earlier turns.
func NewRecomputation(poolID string, source urn.Source, documents []*draw.Rules) *Recomputation {
	u := urn.NewUrnFrom(poolID, source)
	return &Recomputation{urn: u, run: urn.NewRun(u, documents)}
}

// Prize returns a prize of the pool in its present state, nil if there is none.
func (r *Recomputation) Prize(id string) *draw.Prize { return r.run.Prize(id) }

// AddPrize adds a prize after the others. Errors: CodeInvalidRequest, CodePrizeExists.
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

// AddMoment adds a pending moment.
func (r *Recomputation) AddMoment(m urn.Moment) { r.run.AddMoment(m) }

// HasMoment reports whether a moment of a prize is pending.
func (r *Recomputation) HasMoment(prizeID string) bool { return r.run.HasMoment(prizeID) }

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

// SetRules puts rules in force at a time, nil for none. Error: CodeInvalidRequest for
// rules that do not fit the prizes.
func (r *Recomputation) SetRules(rules *draw.Rules, at time.Time) error {
	if rules != nil {
		if err := rules.Check(slices.Collect(r.urn.EachPrize())); err != nil {
			return err
		}
	}
	r.run.SetRules(rules, at)
	return nil
}

// Rules returns the rules in force, nil for none.
func (r *Recomputation) Rules() *draw.Rules { return r.urn.Rules() }

// SetState sets whether draws are open.
func (r *Recomputation) SetState(s draw.State) { r.urn.State = s }

// Next returns the award of a version for the ordinal-th unit of a request: see
// [urn.Run.Next]. The award is not applied until [Recomputation.Take] is called. Errors:
// those that refuse the request.
func (r *Recomputation) Next(version int64, q draw.Request, ordinal int, at time.Time) (draw.Award, error) {
	return r.run.Next(version, q, ordinal, at)
}

// Take applies an award without checking how it was decided. Errors: CodePrizeNotFound,
// CodeSoldOut if the prize does not have the unit, or if another unit is its next.
func (r *Recomputation) Take(a *draw.Award) error {
	if p := r.Prize(a.PrizeID); p != nil && (a.Unit != p.Issued+1 || a.Unit > p.Stocked) {
		return draw.Errorf(draw.CodeSoldOut, "unit %d of prize %q, of which %d of %d are issued", a.Unit, a.PrizeID, p.Issued, p.Stocked)
	}
	return r.run.Take(a)
}
