package draw

import (
	"fmt"
	"slices"
	"time"
)

// AwardState is the state of an award in its life.
type AwardState string

// The states of an award. The last two are final.
const (
	AwardWon       AwardState = "won"
	AwardClaimed   AwardState = "claimed"
	AwardFulfilled AwardState = "fulfilled"
	AwardExpired   AwardState = "expired"
	AwardVoided    AwardState = "voided"
)

// AwardStates returns all states of awards.
func AwardStates() []AwardState {
	return []AwardState{AwardWon, AwardClaimed, AwardFulfilled, AwardExpired, AwardVoided}
}

// HasEnded reports whether the state is final.
func (s AwardState) HasEnded() bool { return s == AwardExpired || s == AwardVoided }

// StepKind is the kind of a step of an award.
type StepKind string

// The kinds of steps. Replaced and shown leave the state as it is.
const (
	StepClaimed   StepKind = "claimed"
	StepFulfilled StepKind = "fulfilled"
	StepReopened  StepKind = "reopened"
	StepVoided    StepKind = "voided"
	StepExpired   StepKind = "expired"
	StepReplaced  StepKind = "replaced"
	StepShown     StepKind = "shown"
)

// StepKinds returns all kinds of steps.
func StepKinds() []StepKind {
	return []StepKind{StepClaimed, StepFulfilled, StepReopened, StepVoided, StepExpired, StepReplaced, StepShown}
}

// IsOfCode reports whether the step concerns the code of an award, and not its state.
func (k StepKind) IsOfCode() bool { return k == StepReplaced || k == StepShown }

// ClaimsJob is the actor of the steps that the service makes by itself.
const ClaimsJob = "job:claims"

// StepTextMax is the maximum length of a reference or a reason, in characters.
const StepTextMax = 200

// Step is one step in the life of an award.
type Step struct {
	// N is the step's number in its pool, from 1, and Seq is its number in its award.
	// Award is the version of the award.
	N, Award, Seq int64
	PoolID        string
	What          StepKind
	// State is the award's state after the step, and Since is the time of the change to
	// it.
	State AwardState
	Since time.Time
	// DrawID, Ordinal and PrizeID are the award's.
	DrawID            string
	Ordinal           int
	PrizeID           string
	Reference, Reason string
	// Returned is the version of the move that put the unit back into stock, 0 for none.
	Returned int64
	Actor    string
	At       time.Time
}

// WantedStep is a requested step.
type WantedStep struct {
	Award             int64
	What              StepKind
	Reference, Reason string
	// From is the state that the award must have, "" for any.
	From AwardState
	// Return puts the unit of a voided award back into stock.
	Return bool
	// Line is the line of a file that requests the step, 0 for none.
	Line int
}

// Check returns an error unless the step may be requested. Error: CodeInvalidRequest.
func (w *WantedStep) Check() error {
	switch {
	case w.Award < 1:
		return Errorf(CodeInvalidRequest, "award must be a version, a whole number above 0")
	case !slices.Contains(StepKinds(), w.What) || w.What == StepExpired:
		return Errorf(CodeInvalidRequest, "to must be claimed, fulfilled, reopened, voided, replaced or shown")
	case w.Return && w.What != StepVoided:
		return Errorf(CodeInvalidRequest, "return is for to voided")
	case w.Reference != "" && w.What != StepFulfilled:
		return Errorf(CodeInvalidRequest, "reference is for to fulfilled")
	case w.Reason == "" && w.What == StepVoided:
		return Errorf(CodeInvalidRequest, "reason is missing: why the award is voided")
	case w.Reason != "" && (w.What == StepClaimed || w.What == StepShown):
		return Errorf(CodeInvalidRequest, "reason is not for to %s", w.What)
	case w.From != "" && !slices.Contains(AwardStates(), w.From):
		return Errorf(CodeInvalidRequest, "from must be won, claimed, fulfilled, expired or voided")
	}
	for name, text := range map[string]string{"reference": w.Reference, "reason": w.Reason} {
		if text == "" {
			continue
		}
		if err := checkText(name, text, StepTextMax); err != nil {
			return err
		}
	}
	return nil
}

// StepFile holds the options for a file of steps.
type StepFile struct {
	Actor string
	// DryRun checks everything, and writes nothing.
	DryRun bool
	// MayStep returns an error unless the caller may make a step of the given kind.
	// Error: CodeForbidden.
	MayStep func(StepKind) error
}

// SteppedFile is the result of a file of steps, or the expected result of a dry run.
type SteppedFile struct {
	// Lines counts all lines, Written counts those that made a step, and Unchanged counts
	// those whose award was already in the wanted state.
	Lines, Written, Unchanged int
	DryRun                    bool
	// Encoding is the file's encoding.
	Encoding Encoding
}

// LifeFacts are the facts that, together with the state, decide whether an award can
// take a step.
type LifeFacts struct {
	// IsBlank reports whether the award is a blank, NeedsClaim reports whether it has to
	// be claimed, and IsPast reports whether its deadline has passed.
	IsBlank, NeedsClaim, IsPast bool
	// IsSame reports whether the award is fulfilled with the wanted reference. IsReopened
	// reports whether a step of the kind reopened led to its state.
	IsSame, IsReopened bool
	// HasCode reports whether the prize has codes, and WasShown reports whether the
	// award's code was shown. HasReserve reports whether a code is left in the reserve.
	HasCode, WasShown, HasReserve bool
	// Returns reports whether the unit is to return to stock. IsClosed and IsGuarded
	// report that the pool's stock cannot be moved, because the pool is closed, or open
	// with a beacon.
	Returns, IsClosed, IsGuarded bool
}

// StateNow returns the publicly visible state of an award: a passed deadline ends the
// award even before the step is written.
func StateNow(state AwardState, f LifeFacts) AwardState {
	if state == AwardWon && f.NeedsClaim && f.IsPast {
		return AwardExpired
	}
	return state
}

// IsThere reports whether an award already is in the state that a step leads to. Then
// no step is made: the answer is the step that led there.
func IsThere(state AwardState, step StepKind, f LifeFacts) bool {
	if f.IsBlank {
		return false
	}
	switch step {
	case StepClaimed:
		return f.NeedsClaim && (state == AwardClaimed || state == AwardFulfilled)
	case StepFulfilled:
		return state == AwardFulfilled && f.IsSame
	case StepReopened:
		return state == AwardClaimed && f.IsReopened
	case StepVoided:
		return state == AwardVoided
	case StepExpired:
		return state == AwardExpired
	case StepReplaced, StepShown:
	}
	return false
}

// Next returns the state of an award after a step, or the code of the refusal. The
// service, the audit and the model of the tests use this one table.
func Next(state AwardState, step StepKind, f LifeFacts) (next AwardState, refusal Code) {
	if f.IsBlank {
		return state, CodeNothingToClaim
	}
	now := StateNow(state, f)
	switch step {
	case StepClaimed:
		return nextClaimed(state, now, f)
	case StepFulfilled:
		switch now {
		case AwardExpired:
			return state, CodeClaimExpired
		case AwardVoided:
			return state, CodeAwardEnded
		case AwardWon, AwardClaimed, AwardFulfilled:
			return AwardFulfilled, ""
		}
	case StepReopened:
		if now == AwardFulfilled {
			return AwardClaimed, ""
		}
		return state, CodeAwardNotFulfilled
	case StepVoided:
		return nextVoided(state, now, f)
	case StepExpired:
		switch {
		case state == AwardWon && now == AwardExpired:
			return AwardExpired, ""
		case state.HasEnded():
			return state, CodeAwardEnded
		}
		return state, CodeNothingToClaim
	case StepReplaced, StepShown:
		return nextOfCode(state, now, step, f)
	}
	return state, CodeInvalidRequest
}

func nextClaimed(state, now AwardState, f LifeFacts) (AwardState, Code) {
	switch {
	case !f.NeedsClaim:
		return state, CodeNothingToClaim
	case now == AwardExpired:
		return state, CodeClaimExpired
	case now == AwardVoided:
		return state, CodeAwardEnded
	case now == AwardWon:
		return AwardClaimed, ""
	}
	return state, CodeNothingToClaim // it is claimed: see IsThere
}

func nextVoided(state, now AwardState, f LifeFacts) (AwardState, Code) {
	switch {
	case now.HasEnded():
		return state, CodeAwardEnded
	case f.Returns && f.HasCode && f.WasShown:
		return state, CodeCodeShown
	case f.Returns && f.IsClosed:
		return state, CodePoolClosed
	case f.Returns && f.IsGuarded:
		return state, CodePoolOpen
	}
	return AwardVoided, ""
}

func nextOfCode(state, now AwardState, step StepKind, f LifeFacts) (AwardState, Code) {
	switch {
	case !f.HasCode:
		return state, CodePrizeHasNoCodes
	case now.HasEnded():
		return state, CodeAwardEnded
	case now == AwardWon && f.NeedsClaim:
		return state, CodeCodeNotOpen
	case step == StepReplaced && !f.HasReserve:
		return state, CodeCodesMissing
	}
	return now, ""
}

// Life is an award with its later steps and state.
type Life struct {
	Award Award
	// State is the current, publicly visible state, and Since is the time at which the
	// award entered it.
	State AwardState
	Since time.Time
	// NeedsClaim and Until follow from the award's rules; Until is the zero time for no
	// deadline.
	NeedsClaim bool
	Until      time.Time
	Reference  string
	// HasCode reports whether the prize has codes, and WasShown reports whether somebody
	// may have seen the code.
	HasCode, WasShown bool
	Steps             []Step
}

// ClaimedOpen counts the awards that are claimed but not fulfilled, and has the age of
// the oldest.
type ClaimedOpen struct {
	Awards int64
	Oldest time.Duration
}

// IsCodeOpen reports whether the winner may see the code of the award.
func (l *Life) IsCodeOpen() bool {
	return l.HasCode && (!l.NeedsClaim || l.State == AwardClaimed || l.State == AwardFulfilled)
}

// IsTold reports whether the award's life has anything to show besides the win.
func (l *Life) IsTold() bool { return l.Award.Win() && (l.NeedsClaim || l.HasCode || len(l.Steps) > 0) }

// WithinMin and WithinMax bound the time in which an award is to be claimed.
const (
	WithinMin = time.Second
	WithinMax = 8760 * time.Hour
)

// Claims are the rules about claims: which awards must be claimed, and until when.
type Claims struct {
	// Within is the time from the award to its deadline, 0 for no deadline.
	Within time.Duration
	// Prizes are the prizes whose awards need a claim, nil for all of kind prize.
	Prizes []string
	// Return puts the units of expired awards back into stock.
	Return bool
}

// check returns an error unless the claims fit the prizes of a pool.
func (c *Claims) check(there func(member, id string) (*Prize, error)) error {
	if c == nil {
		return nil
	}
	for i, id := range c.Prizes {
		member := fmt.Sprintf("claims.prizes[%d]", i)
		p, err := there(member, id)
		if err != nil {
			return err
		}
		if !p.IsWin() {
			return ErrorOfMember(member, "names %q, which is a blank", id)
		}
	}
	return nil
}

// Cover reports whether awards of a prize of kind prize need a claim.
func (c *Claims) Cover(prizeID string) bool {
	return c != nil && (c.Prizes == nil || slices.Contains(c.Prizes, prizeID))
}

// ClaimsOf returns the claims of rules, nil for none.
func ClaimsOf(r *Rules) *Claims {
	if r == nil {
		return nil
	}
	return r.Claims
}

// NeedsClaim reports whether an award that was made under the claims needs a claim.
func (c *Claims) NeedsClaim(a *Award) bool { return a.Win() && c.Cover(a.PrizeID) }

// Deadline returns the deadline for claiming an award that was made under the claims, the
// zero time for none. now are the claims of the rules in force: they can extend the time,
// but not shorten it.
func (c *Claims) Deadline(a *Award, now *Claims) time.Time {
	if c.Within == 0 {
		return time.Time{}
	}
	within := c.Within
	if now.Cover(a.PrizeID) {
		if now.Within == 0 {
			return time.Time{}
		}
		within = max(within, now.Within)
	}
	return a.At.Add(within)
}

// MarkClaim sets the fields of an award that depend on the claims under which it was
// made. An award that needs a claim shows no code.
func (c *Claims) MarkClaim(a *Award) {
	a.AsksClaims = false
	if !c.NeedsClaim(a) {
		return
	}
	a.NeedsClaim, a.HasCode, a.ClaimUntil = true, false, c.Deadline(a, nil)
}
