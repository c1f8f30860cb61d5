package api

import "drawsvc/internal/draw"

// Budget is the current state of a pool's budget.
type Budget struct {
	Max string `json:"max"`
	// Per is null for a budget without a period.
	Per   *string `json:"per"`
	Spent string  `json:"spent"`
	Left  string  `json:"left"`
	// ResetsAt is null if the budget has no period.
	ResetsAt *string `json:"resets_at"`
}

// ShowBudget converts the current state of a budget to its response type, nil for none.
func ShowBudget(b *draw.BudgetStanding) *Budget {
	if b == nil {
		return nil
	}
	show := func(cents int64) string { return draw.Amount(cents).StringFixed(2) }
	return &Budget{show(b.Max), orNil(b.Per.String()), show(b.Spent), show(b.Left), ShowTimeOrNull(b.ResetsAt)}
}

// Nothing is the reason why nothing can be won in an open pool.
type Nothing struct {
	// Why is stock, dates, budget or odds.
	Why draw.Withheld `json:"why"`
	// Since is when the budget was used up, and Until when its next period begins. For other
	// reasons both are null.
	Since  *string `json:"since"`
	Until  *string `json:"until"`
	Detail string  `json:"detail"`
}

// ShowNothing converts the reason why nothing can be won to its response type, nil while
// something can be won.
func ShowNothing(n *draw.Nothing) *Nothing {
	if n == nil {
		return nil
	}
	return &Nothing{n.Why, ShowTimeOrNull(n.Since), ShowTimeOrNull(n.Until), n.Detail()}
}
