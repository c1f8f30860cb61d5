package draw

import (
	"time"

	"github.com/shopspring/decimal"
)

// CountMax is the maximum number of units that one draw may request.
const CountMax = 100

// Request is one request to draw.
type Request struct {
	PoolID string
	UserID string
	// DrawID is the draw's name: a pool decides it only once.
	DrawID string
	// Named means that the caller chose DrawID, so that the log may already have it. A
	// name that the service created is new by construction and is never looked up.
	Named bool
	// Count is the number of units, 1 to CountMax. The draw gets all of them or none.
	Count int
	// TicketUntil is when the request's verified ticket expires; the zero time for a
	// request without a ticket.
	TicketUntil time.Time
	// Receipt means that the caller wants the draw's receipt. A pool with secret
	// numbers has no receipts, and refuses the draw.
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
	// PrizeName and Value belong to the prize; they never change.
	PrizeName string
	Value     decimal.Decimal
	// Blank is true for a losing ticket, HasCode for an award whose code may be shown:
	// its prize has codes, and the award needs no claim. Code is the unit's code. It is
	// set only in the answer to the draw's caller, after the commit.
	Blank, HasCode bool
	Code           string
	// NeedsClaim reports whether the award has to be claimed, ClaimUntil is its initial
	// deadline, the zero time for none. AsksClaims reports whether the rules of its
	// version have to be read to set both.
	NeedsClaim, AsksClaims bool
	ClaimUntil             time.Time
	// Unit counts the prize's issued units, from 1.
	Unit int64
	// At is the time of the decision, UTC, to the microsecond.
	At time.Time
	// Redirect is nil if the rules did not replace the drawn unit.
	Redirect *Redirect
}

// Win reports whether the award is of kind prize.
func (a *Award) Win() bool { return !a.Blank }

// Redirect records that the rules gave a prize that differs from the drawn one.
type Redirect struct {
	// Drawn is the id of the prize that was drawn, "" for nothing.
	Drawn string
	Why   Why
}

// Why is the reason why an outcome was redirected.
type Why string

// The reasons. A prize that was drawn may be withheld; a guarantee replaces nothing, a
// withheld prize, or a blank of the urn. A moment replaces any drawn unit, even one of
// the same prize.
const (
	WhySoldOut   Why = "sold-out"
	WhyLimit     Why = "limit"
	WhyBudget    Why = "budget"
	WhyGuarantee Why = "guarantee"
	WhyMoment    Why = "moment"
)

// Draw is the answer to a Request: its awards in order of their ordinals.
type Draw struct {
	ID       string
	PoolID   string
	UserID   string
	Replayed bool
	Awards   []Award
	// Lives are the lives of the awards, if they were read. A life is nil if its award
	// has no steps and needs no claim.
	Lives []*Life
	// Receipt means that the answer has a receipt: the caller requested it, or the pool
	// gives one with every draw.
	Receipt bool
	// Signed is the receipt if it was signed with those of its batch.
	Signed Receipt
	// Signer signs the receipt, under the commitment that determines the awards. Rules are
	// the rules under which they were made, nil for none. Only new draws with a receipt
	// have both; for other draws the store must read them.
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

// AsksStore reports whether the answer to the draw still lacks data from the store: its
// codes, or which awards must be claimed.
func (d *Draw) AsksStore() bool {
	for i := range d.Awards {
		if a := &d.Awards[i]; a.HasCode && a.Code == "" || a.AsksClaims {
			return true
		}
	}
	return false
}

// ErrorSealKeyMissing is the error of a pool whose codes this instance cannot unseal.
func ErrorSealKeyMissing(poolID string) *Error {
	return Errorf(CodeSealKeyMissing, "pool %q has codes, and this instance has no seal key that opens them", poolID)
}

// Wins reports whether some award of the draw is a win.
func (d *Draw) Wins() bool {
	for i := range d.Awards { // by index: an award is too large to be copied for this
		if d.Awards[i].Win() {
			return true
		}
	}
	return false
}
