package odds

import (
	"errors"
	"slices"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// failedMax is the maximum number of failed items that a result lists.
const failedMax = 1000

// SimulatedDay is a day of a simulation, in the zone of its result.
type SimulatedDay struct {
	// Date is the day, such as 2026-12-01.
	Date string
	// Draws counts the draws that got a unit, Wins counts those of them with a prize that
	// is not blank, and Refused counts the other draws. Cents is the value of what was
	// given, at most math.MaxInt64.
	Draws, Wins, Refused, Cents int64
}

// day returns the day of an instant that is not before the last one.
func (s *simulator) day(at time.Time) *SimulatedDay {
	for len(s.result.Days) == 0 || !at.Before(s.dayEnd) {
		start := s.dayEnd
		if len(s.result.Days) == 0 {
			start = at
		}
		s.result.Days = append(s.result.Days, SimulatedDay{Date: start.In(s.result.Zone).Format(time.DateOnly)})
		s.dayEnd = s.perDay.Next(start, s.result.Zone)
	}
	return &s.result.Days[len(s.result.Days)-1]
}

// hiddenUnit is a hidden unit and its instant, which follows from the seed; of is its index in Hidden.
type hiddenUnit struct {
	at time.Time
	of int
}

// hiddenUnits returns the hidden units in order of their instants, which follow from
// the seed and are not before the run.
func (s *Simulation) hiddenUnits() (all []hiddenUnit) {
	instants := newSeeded(s.Seed, seedHidden)
	for i, h := range s.Hidden {
		from, to := h.From, h.To
		if to.IsZero() {
			from, to = s.From, s.instant(s.Draws)
		}
		if from.Before(s.From) {
			from = s.From
		}
		steps := max(int64(to.Sub(from)/draw.TimeStep), 1)
		for range h.Count {
			all = append(all, hiddenUnit{from.Add(time.Duration(instants.Below(steps)) * draw.TimeStep), i})
		}
	}
	slices.SortStableFunc(all, func(a, b hiddenUnit) int { return a.at.Compare(b.at) })
	return all
}

func rulesOf(agenda []draw.Item) (all []*draw.Rules) {
	for i := range agenda {
		all = append(all, agenda[i].Rules)
	}
	return all
}

// doNext carries out the next item that is due at an instant, whether it is of the agenda
// or hidden. It reports whether there was one.
func (s *simulator) doNext(at time.Time) bool {
	isHidden := len(s.hidden) > 0 && (len(s.Agenda) == 0 || s.hidden[0].at.Before(s.Agenda[0].At))
	switch {
	case isHidden && !s.hidden[0].at.After(at):
		h := &s.Hidden[s.hidden[0].of]
		item := draw.Item{At: s.hidden[0].at, Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: h.PrizeID, Delta: 1}}
		if h.IsMoments {
			item.Kind, item.Stock = draw.ItemMoment, draw.MomentOf(h.PrizeID)
		}
		s.due(&item)
		s.hidden = s.hidden[1:]
	case !isHidden && len(s.Agenda) > 0 && !s.Agenda[0].At.After(at):
		s.due(&s.Agenda[0])
		s.Agenda = s.Agenda[1:]
	default:
		return false
	}
	return true
}

// due carries out an item as the service does. A failure is recorded, and the run
// continues.
func (s *simulator) due(item *draw.Item) {
	s.happened = true
	if err := s.do(item); err != nil && len(s.result.Failed) < failedMax {
		s.result.Failed = append(s.result.Failed, draw.ItemDone{Item: item.Number, Failed: err.Code, Detail: err.Detail})
	}
}

func (s *simulator) do(item *draw.Item) *draw.Error {
	if err := item.Unreadable(); err != nil {
		return asError(err)
	}
	if s.urn.State == draw.StateClosed && item.State != draw.StateClosed {
		return draw.Errorf(draw.CodePoolClosed, "the pool is closed, which is final")
	}
	switch item.Kind {
	case draw.ItemStock:
		return s.stock(&item.Stock)
	case draw.ItemMoment:
		err := s.stock(&item.Stock)
		if err == nil {
			s.moments++
			s.AddMoment(urn.Moment{Item: s.moments, Done: s.moments, PrizeID: item.Stock.PrizeID})
		}
		return err
	case draw.ItemState:
		s.urn.State = item.State
		return nil
	case draw.ItemRules:
	}
	if item.Rules != nil {
		if err := item.Rules.Check(s.Pool.Prizes); err != nil {
			return asError(err)
		}
	}
	s.SetRules(item.Rules, item.At)
	return nil
}

// asError converts the error of a check.
func asError(err error) *draw.Error {
	if e, ok := errors.AsType[*draw.Error](err); ok {
		return e
	}
	return draw.WrapInternal(err, "the item could not be done")
}

func (s *simulator) stock(w *draw.Stocking) *draw.Error {
	p := s.Prize(w.PrizeID)
	if p == nil {
		return draw.Errorf(draw.CodePrizeNotFound, "the pool has no prize %q", w.PrizeID)
	}
	switch stocked := p.Stocked + w.Delta; {
	case p.IsEndless():
		return draw.Errorf(draw.CodeInvalidRequest, "prize %q is an endless blank, whose stock does not change", w.PrizeID)
	case stocked < p.Issued:
		return draw.Errorf(draw.CodeStockBelowIssued, "prize %q has issued %d of %d units; %d more cannot be withdrawn", w.PrizeID, p.Issued, p.Stocked, -w.Delta)
	case stocked > draw.StockMax:
		return draw.Errorf(draw.CodeInvalidRequest, "delta would raise the stock of prize %q above %d", w.PrizeID, int64(draw.StockMax))
	default:
		s.SetStock(w.PrizeID, stocked)
		s.stocked[s.places[w.PrizeID]] = stocked
		of := &s.result.Prizes[s.places[w.PrizeID]]
		of.SoldOutAfter, of.SoldOutAt, of.SoldOutDay = 0, time.Time{}, 0
		return nil
	}
}
