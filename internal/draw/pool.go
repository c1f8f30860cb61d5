package draw

import (
	"time"

	"github.com/shopspring/decimal"
)

// State is whether a pool may be drawn from.
type State string

// The states of a pool. Paused and closed pools refuse new draws and answer known ones.
// Closed is final.
const (
	StateOpen   State = "open"
	StatePaused State = "paused"
	StateClosed State = "closed"
)

// Pool is an urn of units, as its operator sees it.
type Pool struct {
	ID    string
	Name  string
	State State
	// Mode is the pool's own lock mode; "" means the service's.
	Mode string
	// Version counts the entries of the pool's history: awards, moves and
	// changes. Revision is the version of the last change.
	Version, Revision int64
	// RulesVersion is the version of the change whose rules are in force, 0 for none.
	RulesVersion int64
	// Committed is the version of the change that committed the pool to its numbers, 0
	// for a pool with secret numbers.
	Committed int64
	// Rules are the initial rules of a new pool, nil for none. In a pool that was read
	// they are nil: see [Ruling].
	Rules *Rules
	// Round is the announced round of the beacon that the pool will open with, 0 for none;
	// RoundAt is when the beacon publishes it.
	Round   int64
	RoundAt time.Time
	// Archived hides a closed pool from lists.
	Archived bool
	// Currency is the currency of the values, for display only; "" for none.
	Currency string
	// Text is for players, for display only; "" for none.
	Text string
	// IsFair means that the pool has a public page of fairness.
	IsFair bool
	// Spent is the amount that was spent of the budget in force.
	Spent Spending
	// DueAt is when the next item of the pool's agenda is due, the zero time for
	// none.
	DueAt time.Time
	// Prizes are in the order in which they were added.
	Prizes []Prize
}

// Prize is one kind of unit in a pool.
type Prize struct {
	ID   string
	Name string
	// Kind never changes; "" means KindPrize.
	Kind Kind
	// Value is an amount of money, 0 to [ValueMax], exact to the cent.
	Value decimal.Decimal
	// Stocked is the number of units ever added, minus those withdrawn, 0 to
	// [StockMax].
	Stocked int64
	// Issued is the number of units drawn, 0 to Stocked.
	Issued int64
	// HasCodes reports whether each unit of the prize has a code; it never changes.
	// Places, if it was read, is the number of codes that the prize has, which is at
	// least Stocked.
	HasCodes bool
	Places   int64
	// Display holds the display texts of a prize that was read, nil for none.
	Display *Display
}

// ShownName returns the name that is shown of the prize.
func (p *Prize) ShownName() string {
	if p.Display != nil && p.Display.Name != "" {
		return p.Display.Name
	}
	return p.Name
}

// Kind is whether a unit of a prize is a win.
type Kind string

// The kinds. A blank is a losing ticket. Its value is 0.
const (
	KindPrize Kind = "prize"
	KindBlank Kind = "blank"
)

// EndlessStock is the stock of an endless blank. Such a blank is not in the urn. Rules
// can name it as their fallback, for draws that get no unit.
const EndlessStock = StockMax

// Reserve returns the number of codes that do not yet belong to a unit.
func (p *Prize) Reserve() int64 { return p.Places - p.Stocked }

// CheckCodes returns an error unless the prize has enough codes for a change of its
// stock. Error: CodeCodesMissing.
func (p *Prize) CheckCodes(delta int64) error {
	//double:stocks-on-trust p.Stocked+delta <= p.Places => true
	if !p.HasCodes || p.Stocked+delta <= p.Places {
		return nil
	}
	return Errorf(CodeCodesMissing, "prize %q has %d codes, and would have %d units", p.ID, p.Places, p.Stocked+delta)
}

// IsWin reports whether a unit of the prize is a win.
func (p *Prize) IsWin() bool { return p.Kind != KindBlank }

// IsEndless reports whether the prize is a blank without a stock of its own.
func (p *Prize) IsEndless() bool { return p.Kind == KindBlank && p.Stocked == EndlessStock }

// Remaining returns the number of units that can still be drawn.
func (p *Prize) Remaining() int64 { return p.Stocked - p.Issued }

// Level is how full a pool is.
type Level struct {
	PoolID string
	// Stocked and Issued are summed over the pool's prizes.
	Stocked, Issued int64
}

// Remaining returns the number of units that can still be drawn.
func (l *Level) Remaining() int64 { return l.Stocked - l.Issued }

// Stocking is a request to change one prize's stock.
type Stocking struct {
	PoolID  string
	PrizeID string
	// Delta is added to the prize's stock; it may be negative, but not 0.
	Delta  int64
	Reason string
	// Key, if not empty, makes the move happen once: a second move with the same key
	// returns the first move.
	Key string
}

// Move is the durable record of one change of stock.
type Move struct {
	// Version is the pool's version that this move made.
	Version int64
	PoolID  string
	PrizeID string
	Delta   int64
	Reason  string
	// Actor is who made the move, "" if a binary of an earlier schema did.
	Actor string
	// Key is the Idempotency-Key of the move, "" if it had none.
	Key string
	At  time.Time
	// Stocked and Issued are the prize's counts directly after the move.
	Stocked int64
	Issued  int64
	// IsEndless means that the move created an endless blank. Both counts are then
	// EndlessStock.
	IsEndless bool
	// Replayed means that the move had already happened under the same key.
	Replayed bool
}

// Audit is the result of reading all rows of one pool in one snapshot. It counts the rows
// themselves, and does not rely on stored counts.
type Audit struct {
	PoolID  string
	Version int64
	Prizes  []PrizeAudit
	// Violations lists the first violations of each rule. If a rule has more of them, an
	// additional entry states how many. Found is the number of all violations.
	Violations []Violation
	Found      int64
}

// OK reports whether no rule is broken.
func (a *Audit) OK() bool { return len(a.Violations) == 0 }

// PrizeAudit has one prize's counters and the count of its award rows.
type PrizeAudit struct {
	PrizeID string
	// IsEndless means that Stocked and Remaining belong to an endless blank.
	IsEndless bool
	Stocked   int64
	Issued    int64
	// Awards is the number of award rows of the prize.
	Awards    int64
	Remaining int64
	// OverIssued is the number of awards beyond stock, 0 if all is well.
	OverIssued int64
}

// Violation is one rule that the rows break.
type Violation struct {
	// Rule names the broken rule, such as "over-issued" or "version-gap".
	Rule string
	// Detail states where and by how much.
	Detail string
}
