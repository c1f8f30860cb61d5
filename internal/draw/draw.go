package draw

import (
	"time"

	"github.com/shopspring/decimal"
)

// CountMax is the most units that one draw may ask for.
const CountMax = 100

// Request is one request to win.
type Request struct {
	PoolID string
	UserID string
	// DrawID is the draw's name: within a pool it is drawn once, ever.
	DrawID string
	// Named says that the caller chose DrawID, so that it may be known
	// already. A name that the service made is new by construction and is
	// never looked up.
	Named bool
	// Count is the number of units wanted, 1 to CountMax, all or none.
	Count int
	// TicketUntil is when the request's ticket expires, which was found genuine;
	// the zero time for a request without ticket.
	TicketUntil time.Time
	// Receipt says that the caller wants the draw's receipt. A pool whose numbers
	// are secret gives none, and refuses the draw.
	Receipt bool
}

// Award is the durable record that a draw took one unit.
type Award struct {
	// Version is the pool's version that this award made, from 1.
	Version int64
	DrawID  string
	// Ordinal is the place of this unit in its draw, from 1.
	Ordinal int
	UserID  string
	PrizeID string
	// PrizeName and Value are the prize's, which never change.
	PrizeName string
	Value     decimal.Decimal
	// Blank is true for a losing ticket, HasCode for an award whose prize has codes: today
	// no award has to be claimed before its code is shown. Code is that code, where it is
	// handed out: after the commit, and to nobody else.
	Blank, HasCode bool
	Code           string
	// Unit counts the prize's issued units, from 1.
	Unit int64
	// At is the time of the decision, UTC, to the microsecond.
	At time.Time
	// Redirect is nil where the rules let stand what was drawn.
	Redirect *Redirect
}

// Win says that the award is of kind prize.
func (a *Award) Win() bool { return !a.Blank }

// Redirect says that the rules gave another prize than the one that was drawn.
type Redirect struct {
	// Drawn is the id of the prize that was drawn, "" for nothing.
	Drawn string
	Why   Why
}

// Why says why an outcome was redirected.
type Why string

// The reasons. A prize that was drawn may be withheld; a guarantee replaces
// nothing, a withheld prize, or a blank of the urn.
const (
	WhySoldOut   Why = "sold-out"
	WhyLimit     Why = "limit"
	WhyBudget    Why = "budget"
	WhyGuarantee Why = "guarantee"
)

// Draw is the answer to a Request: its awards in order of their ordinals.
type Draw struct {
	ID       string
	PoolID   string
	UserID   string
	Replayed bool
	Awards   []Award
	// Receipt says that the answer has a receipt: the request asks for one, or the
	// pool gives one with every draw.
	Receipt bool
	// Signed is the receipt, as JSON, where it was signed with those of its batch.
	Signed []byte
	// Signer signs the receipt, of the commitment that the awards follow from. Rules
	// are those that they were made under, nil for none. New draws with a receipt have
	// both; of others the store has to be asked.
	Signer Signer
	Rules  *Rules
}

// HasCodes reports whether some award of the draw has a code.
func (d *Draw) HasCodes() bool {
	for i := range d.Awards {
		if d.Awards[i].HasCode {
			return true
		}
	}
	return false
}

// ErrorSealKeyMissing is the error of a pool whose codes cannot be opened here.
func ErrorSealKeyMissing(poolID string) *Error {
	return Errorf(CodeSealKeyMissing, "pool %q has codes, and this instance has no seal key that opens them", poolID)
}

// Wins says that some award of the draw is a win.
func (d *Draw) Wins() bool {
	for i := range d.Awards { // by index: an award is too large to be copied for this
		if d.Awards[i].Win() {
			return true
		}
	}
	return false
}
