package audit

import (
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// slotLength is a length that divides every window of the calendar, because the offsets
// of all time zones are multiples of it.
const slotLength = 15 * time.Minute

// budgetAuditor adds up the value of awards under rules with a budget, entry by entry. It
// keeps one sum for each time slot, so that it can compute the sum of new windows later.
type budgetAuditor struct {
	rules *draw.Rules
	// spent is the sum of the current window. next is the end of that window, the zero
	// time if it has no end.
	spent  int64
	next   time.Time
	slots  []slot
	prizes map[string]*auditedPrize
	found  *findings
}

type slot struct {
	at    time.Time
	cents int64
}

// take checks the next entry.
func (b *budgetAuditor) take(e draw.Entry) {
	switch {
	case e.Change != nil:
		if rules, set, _ := rules.Of(e.Change); set { // another judge reports unreadable rules; here they count as no rules
			b.follow(rules, e.Change.At)
		}
	case e.Award != nil && b.rules != nil && b.rules.Budget != nil:
		b.award(e.Award)
	}
}

// follow applies rules from a time on.
func (b *budgetAuditor) follow(rules *draw.Rules, at time.Time) {
	before := b.rules
	b.rules = rules
	if rules == nil || rules.Budget == nil || rules.SameWindow(before) {
		return
	}
	b.spent, b.next = 0, rules.Budget.Per.Next(at, rules.Zone)
	start := rules.Budget.Per.Start(at, rules.Zone)
	for _, s := range b.slots {
		if !s.at.Before(start) {
			b.spent += s.cents
		}
	}
}

func (b *budgetAuditor) award(w *draw.Award) {
	if !b.next.IsZero() && !w.At.Before(b.next) {
		b.spent, b.next = 0, b.rules.Budget.Per.Next(w.At, b.rules.Zone)
	}
	p := b.prizes[w.PrizeID]
	if p == nil || p.cents == 0 { // another judge reports a missing prize
		return
	}
	at := w.At.Truncate(slotLength)
	if n := len(b.slots); n == 0 || !b.slots[n-1].at.Equal(at) {
		b.slots = append(b.slots, slot{at: at})
	}
	b.slots[len(b.slots)-1].cents += p.cents
	if b.spent += p.cents; b.spent > b.rules.Budget.Max {
		b.found.add(ruleBudgetPassed, "with the award of version %d %d cents are spent of the %d that the rules allow", w.Version, b.spent, b.rules.Budget.Max)
	}
}
