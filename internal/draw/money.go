package draw

import (
	"time"

	"github.com/shopspring/decimal"
)

// Spending is the value that was issued under rules with a budget in the window that
// starts at From, in cents.
type Spending struct {
	From  time.Time
	Cents int64
}

// Is reports whether both are the same.
func (s Spending) Is(other Spending) bool { return s.Cents == other.Cents && s.From.Equal(other.From) }

// In returns the amount that was spent in the window that contains at, 0 in a new
// window.
func (s Spending) In(b *Budget, at time.Time, zone *time.Location) Spending {
	if start := b.Per.Start(at, zone); s.From.Before(start) {
		return Spending{From: start}
	}
	return s
}

// BudgetStanding is the state of a budget at a time.
type BudgetStanding struct {
	Budget
	// Spent is the value that was issued in the present window, in cents. Left is the
	// rest, 0 if former rules allowed more than the budget.
	Spent, Left int64
	// From is the start of the window, and ResetsAt its end, zero for never.
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

// Given is the value of the units that were issued.
func (p *Prize) Given() decimal.Decimal { return p.Value.Mul(decimal.NewFromInt(p.Issued)) }

// Amount is an amount of money from its cents.
func Amount(cents int64) decimal.Decimal { return decimal.New(cents, -2) }

// Withheld is a reason why nothing can be won.
type Withheld string

// Why nothing can be won of an open pool.
const (
	// WithheldStock: no prize has a unit.
	WithheldStock Withheld = "stock"
	// WithheldDates: no prize has a unit yet, and the agenda adds some.
	WithheldDates Withheld = "dates"
	// WithheldBudget: every prize that is left costs more than is left of the budget.
	WithheldBudget Withheld = "budget"
	// WithheldOdds: the fixed odds give every prize that is left the chance 0.
	WithheldOdds Withheld = "odds"
)

// Nothing is the reason why nothing can be won in a pool.
type Nothing struct {
	Why Withheld
	// Since is when the budget was used up, Until when it begins again; zero for
	// unknown and for never, and for any other reason.
	Since, Until time.Time
}

// Detail is the reason in a sentence.
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

// NothingToWin returns the reason why a player without turns cannot win any prize, nil
// if the player can win one. budget is the state of the rules' budget, nil for none.
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

// canDraw reports whether the law gives a prize that is not empty a chance.
func (r *Rules) canDraw(prizeID string) bool {
	return r == nil || r.Odds == nil || r.Odds.ShareOf(prizeID) > 0 || r.Guarantee != nil && r.Guarantee.PrizeID == prizeID
}

// Money is what can be won under a pool's money and rules at a time.
type Money struct {
	// Budget is nil without one, Nothing while something can be won.
	Budget  *BudgetStanding
	Nothing *Nothing
	// Low are the prizes of an open pool that the rules warn of.
	Low []LowPrize
}

// CheckCurrency reports whether s is in the form of ISO 4217, or empty for none.
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
