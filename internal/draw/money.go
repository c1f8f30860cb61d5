package draw

import (
	"time"

	"github.com/shopspring/decimal"
)

// Spending is the value, in cents, that was issued under rules with a budget. From is the
// start of the budget's window.
type Spending struct {
	From  time.Time
	Cents int64
}

// Is reports whether both spendings are the same.
func (s Spending) Is(other Spending) bool { return s.Cents == other.Cents && s.From.Equal(other.From) }

// In returns the amount that was spent in the window that contains the time at. It is 0
// in a new window.
func (s Spending) In(b *Budget, at time.Time, zone *time.Location) Spending {
	if start := b.Per.Start(at, zone); s.From.Before(start) {
		return Spending{From: start}
	}
	return s
}

// HasEnded reports whether the budget's window that contains the time at has ended at the
// time now.
func (b *Budget) HasEnded(at, now time.Time, zone *time.Location) bool {
	next := b.Per.Next(at, zone)
	return !next.IsZero() && !next.After(now)
}

// Before returns the amount that was spent before now in the window that contains the
// time at. It is 0 if that window has ended.
func (s Spending) Before(b *Budget, at, now time.Time, zone *time.Location) Spending {
	before := Spending{From: b.Per.Start(at, zone)}
	if !b.HasEnded(at, now, zone) {
		before.Cents = s.In(b, at, zone).Cents
	}
	return before
}

// BudgetStanding is the state of a budget at a time.
type BudgetStanding struct {
	Budget
	// Spent is the value that was issued in the present window, in cents. Left is the
	// rest of the budget. It is 0 if more than the budget was issued, under former rules.
	Spent, Left int64
	// From is the start of the window, and ResetsAt is its end, zero for never.
	From, ResetsAt time.Time
}

// BudgetAt returns the state of the rules' budget at a time, nil without a budget.
func (r *Rules) BudgetAt(s Spending, at time.Time) *BudgetStanding {
	if r == nil || r.Budget == nil {
		return nil
	}
	s = s.In(r.Budget, at, r.Zone)
	return &BudgetStanding{
		Budget: *r.Budget, Spent: s.Cents, Left: max(0, r.Budget.Max-s.Cents), From: s.From, ResetsAt: r.Budget.Per.Next(at, r.Zone),
	}
}

// Given returns the value of the units that were issued.
func (p *Prize) Given() decimal.Decimal { return p.Value.Mul(decimal.NewFromInt(p.Issued)) }

// Amount converts cents to an amount of money.
func Amount(cents int64) decimal.Decimal { return decimal.New(cents, -2) }

// Withheld is a reason why nothing can be won.
type Withheld string

// The reasons why nothing can be won in an open pool.
const (
	// WithheldStock: no prize has a unit.
	WithheldStock Withheld = "stock"
	// WithheldDates: no prize has a unit yet, but the agenda adds some.
	WithheldDates Withheld = "dates"
	// WithheldBudget: the value of every remaining prize exceeds the rest of the budget.
	WithheldBudget Withheld = "budget"
	// WithheldOdds: the fixed odds give every remaining prize the chance 0.
	WithheldOdds Withheld = "odds"
)

// Nothing is the reason why nothing can be won in a pool.
type Nothing struct {
	Why Withheld
	// Since is when the budget was used up, zero if that is unknown. Until is when its
	// next window begins, zero for never. Other reasons have neither.
	Since, Until time.Time
}

// Detail returns the reason as a sentence.
func (n *Nothing) Detail() string {
	switch n.Why {
	case WithheldBudget:
		if n.Since.IsZero() {
			return "Nothing can be won: budget used up"
		}
		return "Nothing can be won: budget used up since " + n.Since.UTC().Format(time.RFC3339)
	case WithheldDates:
		return "Nothing can be won: the agenda adds the next units"
	case WithheldOdds:
		return "Nothing can be won: the odds give no chance to a prize that is left"
	case WithheldStock:
	}
	return "Nothing can be won: no prize has a unit left"
}

// NothingToWin returns why a player without turns cannot win any prize, nil if the player
// can win one. budget is the state of the rules' budget, nil for none.
func (r *Rules) NothingToWin(prizes []Prize, budget *BudgetStanding) *Nothing {
	n := &Nothing{Why: WithheldStock}
	for i := range prizes {
		p := &prizes[i]
		switch {
		case !p.IsWin() || p.Remaining() <= 0:
		case !r.canDraw(p.ID):
			if n.Why == WithheldStock {
				n.Why = WithheldOdds
			}
		case budget != nil && Cents(p.Value) > 0 && Cents(p.Value) > budget.Left:
			n.Why, n.Until = WithheldBudget, budget.ResetsAt
		default:
			return nil
		}
	}
	return n
}

// canDraw reports whether the law gives a prize a chance as long as the prize has units.
func (r *Rules) canDraw(prizeID string) bool {
	return r == nil || r.Odds == nil || r.Odds.ShareOf(prizeID) > 0 || r.Guarantee != nil && r.Guarantee.PrizeID == prizeID
}

// Money is the state of a pool's budget at a time, and whether something can be won.
type Money struct {
	// Budget is nil without a budget. Nothing is nil while something can be won.
	Budget  *BudgetStanding
	Nothing *Nothing
	// Low are the prizes of an open pool for which the rules request a warning.
	Low []LowPrize
}

// CheckCurrency returns an error unless s is in the form of ISO 4217, or empty for
// none.
func CheckCurrency(s string) error {
	isCode := len(s) == 3
	for i := 0; i < len(s); i++ {
		isCode = isCode && 'A' <= s[i] && s[i] <= 'Z'
	}
	if s != "" && !isCode {
		return Errorf(CodeInvalidRequest, "currency must be a code of ISO 4217, such as EUR")
	}
	return nil
}
