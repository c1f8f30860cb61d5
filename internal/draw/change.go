package draw

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"
)

// PoolChange is what an operator wants changed in a pool; nil members stay.
type PoolChange struct {
	Name  *string
	State *State
	// Mode "" gives the pool the service's own mode again.
	Mode     *string
	Archived *bool
	// Pause, where not nil, is what a change to StatePaused says to those who draw. A
	// pool that is paused already gets it as a change of its own.
	Pause *Pause
	// Round, where not nil, is the announced round that a pool with a beacon is
	// opened with.
	Round *Round
	// Revisions, where not nil, are those that the pool may have: at any other
	// nothing is changed.
	Revisions []int64
}

// Round is a round of a public beacon: its number, from 1, and its signature in
// lower-case hexadecimal.
type Round struct {
	Number    int64
	Signature string
}

// PrizeChange is what an operator wants corrected in a prize that has issued
// nothing; nil members stay.
type PrizeChange struct {
	Name  *string
	Value *decimal.Decimal
}

// Change is the durable record of one operator's act on a pool.
type Change struct {
	// Version is the pool's version that this change made.
	Version int64
	PoolID  string
	What    What
	// Body is the JSON object of what the change has set.
	Body string
	// Actor is who made the change.
	Actor string
	At    time.Time
}

// What says what a change was of.
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
	// WhatAgenda: an item that was planned, with its members; item, count and
	// sha256 of several; item and removed; or item, failed and detail.
	WhatAgenda What = "agenda"
	WhatCommit What = "commit" // hash: of the commitment to the pool's seeds
	// WhatErased: a user's awards bear a pseudonym from now on; awards is their
	// number.
	WhatErased What = "user-forgotten"
	// WhatSkipped: the version gives nothing; reason, where one was given.
	WhatSkipped What = "skip"
	// WhatCodes: prize, and count and sha256 of codes that were imported together, or
	// dropped: how many left the reserve.
	WhatCodes What = "codes"
)

// Entry is one entry of a pool's history: one of the three is set.
type Entry struct {
	Award  *Award
	Move   *Move
	Change *Change
}

// In returns a copy of the entry that names the pool, and shares nothing with e.
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

// Version is the pool's version that the entry made.
func (e Entry) Version() int64 {
	switch {
	case e.Award != nil:
		return e.Award.Version
	case e.Move != nil:
		return e.Move.Version
	}
	return e.Change.Version
}

// At is the time of the entry.
func (e Entry) At() time.Time {
	switch {
	case e.Award != nil:
		return e.Award.At
	case e.Move != nil:
		return e.Move.At
	}
	return e.Change.At
}

// CheckActor reports whether s may be recorded as an actor: 1 to UserMax
// printable characters.
func CheckActor(s string) error { return checkText("actor", s, UserMax) }

// Check reports whether the change may be asked for.
func (c *PoolChange) Check() error {
	if c.Name == nil && c.State == nil && c.Mode == nil && c.Archived == nil {
		return Errorf(CodeInvalidRequest, "nothing to change: give state, mode, name or archived")
	}
	if c.Name != nil {
		if err := CheckName("name", *c.Name); err != nil {
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

// IsAt reports whether the pool is at one of the revisions that a request names;
// nil names every one. Error: CodeChangedMeanwhile.
func (p *Pool) IsAt(revisions []int64) error {
	if revisions != nil && !slices.Contains(revisions, p.Revision) {
		return Errorf(CodeChangedMeanwhile, "pool %q is at revision %d, which the request does not name", p.ID, p.Revision)
	}
	return nil
}

// CheckNotClosed reports that the pool is closed: neither what it holds nor how
// it is drawn from changes any more. Error: CodePoolClosed.
func (p *Pool) CheckNotClosed() error {
	if p.State == StateClosed {
		return Errorf(CodePoolClosed, "pool %q is closed, which is final", p.ID)
	}
	return nil
}

// Admit reports whether the change may be made to a pool. Errors:
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

// Check reports whether the correction may be asked for.
func (c *PrizeChange) Check() error {
	if c.Name == nil && c.Value == nil {
		return Errorf(CodeInvalidRequest, "nothing to change: give name or value")
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

// CheckStart reports whether a new pool may be in a state: open or paused.
func CheckStart(s State) error {
	if s != StateOpen && s != StatePaused {
		return Errorf(CodeInvalidRequest, "state of a new pool must be open or paused")
	}
	return nil
}
