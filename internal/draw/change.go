package draw

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// PoolChange is an operator's request to change a pool; nil members do not change.
type PoolChange struct {
	Name  *string
	State *State
	// Mode "" resets the pool to the service's own mode.
	Mode     *string
	Archived *bool
	// Currency and Text are "" for none. They and Fair affect only what is displayed, so
	// a change of them creates no version.
	Currency, Text *string
	// Fair turns the public page of fairness on or off.
	Fair *bool
	// Pause, if not nil, is the message for callers that draw; the change must set
	// StatePaused. A pool that is already paused gets the message as a change of its own.
	Pause *Pause
	// Round, if not nil, is the announced round that a pool with a beacon is opened
	// with.
	Round *Round
	// Revisions, if not nil, are the revisions at which the change may be made. At any
	// other revision it is refused.
	Revisions []int64
}

// Round is a round of a public beacon: its number, from 1, and its signature in
// lower-case hexadecimal.
type Round struct {
	Number    int64
	Signature string
}

// PrizeChange is an operator's correction of a prize; nil members do not change. Name and
// Value can change only while the prize has issued nothing.
type PrizeChange struct {
	Name    *string
	Value   *decimal.Decimal
	Display *DisplayChange
}

// Change is the durable record of one operator's act on a pool.
type Change struct {
	// Version is the pool's version that this change made.
	Version int64
	PoolID  string
	What    What
	// Body is the JSON object of the values that the change has set.
	Body string
	// Actor is who made the change.
	Actor string
	At    time.Time
}

// What is the subject of a change.
type What string

// The kinds of changes, and the members of their bodies.
const (
	WhatCreated What = "created" // name, state, mode
	// WhatState: state; round and signature of an opened pool with a beacon;
	// retry_after, notice and reason of a pause.
	WhatState    What = "state"
	WhatOpening  What = "opening"  // round: the one that the pool will be opened with
	WhatMode     What = "mode"     // mode, null for the service's
	WhatName     What = "name"     // name
	WhatArchived What = "archived" // archived
	WhatPrize    What = "prize"    // prize, and name or value or both
	WhatRules    What = "rules"    // rules: the document, null for none
	// WhatAgenda: a planned item, with its members. For several planned items: item, count
	// and sha256. For a removed item: item and removed. For a failed item: item, failed
	// and detail.
	WhatAgenda What = "agenda"
	WhatCommit What = "commit" // hash: of the commitment to the pool's seeds
	// WhatErased: a user's awards have a pseudonym from now on; awards is their number.
	WhatErased What = "user-forgotten"
	// WhatSkipped: a version that gives no unit; reason, if one was given.
	WhatSkipped What = "skip"
	// WhatCodes: prize. For an import of codes also count and sha256; for codes that were
	// removed from the reserve also dropped, their number.
	WhatCodes What = "codes"
)

// Entry is one entry of a pool's history: exactly one of the three is set.
type Entry struct {
	Award  *Award
	Move   *Move
	Change *Change
}

// In returns a copy of the entry, with the id of its pool. The copy shares no memory with
// e.
func (e Entry) In(poolID string) Entry {
	switch {
	case e.Award != nil:
		a := *e.Award
		if a.Redirect != nil {
			redirect := *a.Redirect
			a.Redirect = &redirect
		}
		return Entry{Award: &a}
	case e.Move != nil:
		m := *e.Move
		m.PoolID = poolID
		return Entry{Move: &m}
	}
	c := *e.Change
	c.PoolID = poolID
	return Entry{Change: &c}
}

// Version returns the pool's version that the entry made.
func (e Entry) Version() int64 {
	switch {
	case e.Award != nil:
		return e.Award.Version
	case e.Move != nil:
		return e.Move.Version
	}
	return e.Change.Version
}

// At returns the time of the entry.
func (e Entry) At() time.Time {
	switch {
	case e.Award != nil:
		return e.Award.At
	case e.Move != nil:
		return e.Move.At
	}
	return e.Change.At
}

// CheckActor returns an error unless s may be recorded as an actor: 1 to UserMax
// printable characters.
func CheckActor(s string) error { return checkText("actor", s, UserMax) }

// Check returns an error unless the change is valid.
func (c *PoolChange) Check() error {
	if c.Name == nil && c.State == nil && c.Mode == nil && c.Archived == nil && !c.ChangesDisplay() {
		return Errorf(CodeInvalidRequest, "nothing to change: give state, mode, name, archived, currency, text or fair")
	}
	if c.Name != nil {
		if err := CheckName("name", *c.Name); err != nil {
			return err
		}
	}
	if c.Currency != nil {
		if err := CheckCurrency(*c.Currency); err != nil {
			return err
		}
	}
	if c.Text != nil && *c.Text != "" {
		if err := CheckText("text", *c.Text); err != nil {
			return err
		}
	}
	if c.Round != nil && (c.State == nil || *c.State != StateOpen) {
		return Errorf(CodeInvalidRequest, "round and signature are for state open")
	}
	if c.Pause != nil {
		if c.State == nil || *c.State != StatePaused {
			return Errorf(CodeInvalidRequest, "retry_after, notice and reason are for state paused")
		}
		if err := c.Pause.Check(); err != nil {
			return err
		}
	}
	if c.State != nil {
		return CheckState(*c.State)
	}
	return nil
}

// ChangesDisplay reports whether the change also changes display texts.
func (c *PoolChange) ChangesDisplay() bool {
	return c.Currency != nil || c.Text != nil || c.Fair != nil
}

// IsAt returns an error unless the pool is at one of the revisions; nil allows every
// one. Error: CodeChangedMeanwhile.
func (p *Pool) IsAt(revisions []int64) error {
	if revisions != nil && !slices.Contains(revisions, p.Revision) {
		return Errorf(CodeChangedMeanwhile, "pool %q is at revision %d, which the request does not name", p.ID, p.Revision)
	}
	return nil
}

// CheckNotClosed returns an error if the pool is closed: then neither its contents nor
// the way in which it is drawn from can change. Error: CodePoolClosed.
func (p *Pool) CheckNotClosed() error {
	if p.State == StateClosed {
		return Errorf(CodePoolClosed, "pool %q is closed, which is final", p.ID)
	}
	return nil
}

// Admit returns an error unless the change may be made to a pool. Errors:
// CodeChangedMeanwhile, CodePoolClosed, CodePoolOpen.
func (c *PoolChange) Admit(p *Pool) error {
	if err := p.IsAt(c.Revisions); err != nil {
		return err
	}
	state := p.State
	if c.State != nil {
		state = *c.State
	}
	if state != p.State || c.Mode != nil && *c.Mode != p.Mode {
		if err := p.CheckNotClosed(); err != nil {
			return err
		}
	}
	if c.Archived != nil && *c.Archived && state != StateClosed {
		return Errorf(CodePoolOpen, "pool %q is %s; only a closed pool can be archived", p.ID, state)
	}
	return nil
}

// Check returns an error unless the correction is valid.
func (c *PrizeChange) Check() error {
	if c.Name == nil && c.Value == nil && c.Display == nil {
		return Errorf(CodeInvalidRequest, "nothing to change: give name, value or display")
	}
	if c.Display != nil {
		if err := c.Display.Check(); err != nil {
			return err
		}
	}
	if c.Name != nil {
		if err := CheckName("prize name", *c.Name); err != nil {
			return err
		}
	}
	if c.Value == nil {
		return nil
	}
	return checkValue("value", *c.Value)
}

// CheckStart returns an error unless a new pool may be in a state: open or paused.
func CheckStart(s State) error {
	if s != StateOpen && s != StatePaused {
		return Errorf(CodeInvalidRequest, "state of a new pool must be open or paused")
	}
	return nil
}
