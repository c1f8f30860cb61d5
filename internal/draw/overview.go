package draw

import (
	"slices"
	"time"
)

// Overview is a pool with its counts, for pages that watch many pools.
type Overview struct {
	// Pool is the pool with its prizes. The prizes are missing if they are more than the
	// caller wanted.
	Pool
	// Money is the state of its budget, and whether something can be won.
	Money Money
	// PrizeCount is the number of its prizes.
	PrizeCount int64
	// Stocked and Issued are summed over the prizes that are not endless.
	Stocked, Issued int64
	// Awards is the sum of the issued units, including endless blanks.
	Awards int64
}

// Remaining returns the number of units that can still be drawn.
func (o *Overview) Remaining() int64 { return o.Stocked - o.Issued }

// AwardFilter selects awards of a pool. An empty member selects all.
type AwardFilter struct {
	UserID, PrizeID, DrawID string
	// State is the state of the awards, "" for any.
	State AwardState
	// Wins leaves out losing tickets.
	Wins bool
	// From and To bound the time of the award: From is included, To is not.
	From, To time.Time
}

// Check returns CodeInvalidRequest for values that no award can have.
func (f *AwardFilter) Check() error {
	if f.State != "" && !slices.Contains(AwardStates(), f.State) {
		return Errorf(CodeInvalidRequest, "state must be won, claimed, fulfilled, expired or voided")
	}
	if f.UserID != "" {
		if err := CheckUser(f.UserID); err != nil {
			return err
		}
	}
	if f.PrizeID != "" {
		if err := CheckID("prize", f.PrizeID); err != nil {
			return err
		}
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		return Errorf(CodeInvalidRequest, "from must be before to")
	}
	if f.DrawID != "" {
		return CheckKey(f.DrawID)
	}
	return nil
}
