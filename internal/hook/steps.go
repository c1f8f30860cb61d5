package hook

import (
	"context"
	"strconv"

	"drawsvc/internal/draw"
)

// Step is a step of an award, and the award's user.
type Step struct {
	draw.Step
	UserID string
}

// stepTypes returns the types of the events of steps. Showing a code sends no event.
func stepTypes() map[draw.StepKind]Type {
	return map[draw.StepKind]Type{
		draw.StepClaimed: TypeClaimed, draw.StepFulfilled: TypeFulfilled, draw.StepReopened: TypeReopened,
		draw.StepExpired: TypeExpired, draw.StepVoided: TypeVoided, draw.StepReplaced: TypeReplaced,
	}
}

// deriveStep returns the events of a step.
func deriveStep(s *Step) []Event {
	t, isSent := stepTypes()[s.What]
	if !isSent {
		return nil
	}
	b := body{
		Type: t, Step: s.N, Award: s.Award, Draw: s.DrawID, Ordinal: s.Ordinal, User: s.UserID, Prize: s.PrizeID,
		Reference: s.Reference, Returned: s.Returned,
	}
	return []Event{newEvent(&b, s.PoolID, placeOfStep(s.N), s.DrawID, s.At)}
}

// placeOfStep returns the text that names the place of a step in ids.
func placeOfStep(n int64) string { return "step " + strconv.FormatInt(n, 10) }

// StepID returns the id of a step, which a cursor stores. Erasing the user does not
// change it.
func StepID(s *draw.Step) string {
	return newID(s.PoolID, placeOfStep(s.N), s.DrawID, "entry "+string(s.What), s.At)
}

// PlaceID returns the id of a place. If there is a step before the place, it is a hash of
// the ids of the entry and of the last step. Otherwise it is the id of the entry.
func PlaceID(entryID, stepID string) string {
	if stepID == "" {
		return entryID
	}
	return hash("drawsvc place v1\n" + entryID + "\n" + stepID)
}

// Reading holds a pool's entries and steps after a place, each in order, read in one
// snapshot.
type Reading struct {
	// Before are the ids of the entry and of the step at the place; "" means none.
	Before struct{ EntryID, StepID string }
	// Entries and Steps come after that place. HasMoreEntries and HasMoreSteps report
	// whether more follow that were not read.
	Entries                      []draw.Entry
	Steps                        []Step
	HasMoreEntries, HasMoreSteps bool
}

// takesStep reports whether the next item is a step. Items are ordered by time, but a
// step never comes before its award. ok is false if nothing is left, or if the next item
// may not have been read.
func (r *Reading) takesStep(at Place) (isStep, ok bool) {
	switch {
	case len(r.Entries) == 0 && len(r.Steps) == 0:
		return false, false
	case len(r.Entries) == 0:
		return true, !r.HasMoreEntries
	case len(r.Steps) == 0:
		return false, !r.HasMoreSteps
	}
	next := &r.Steps[0]
	return next.Award <= at.Version && next.At.Before(r.Entries[0].At()), true
}

// Fill adds the events of a reading to a page, which begins at its To. d derives the
// events of entries. Two readings of the same range give the same events in the same
// order.
func (p *Page) Fill(ctx context.Context, d *Deriver, r *Reading) error {
	entryID, stepID, at := r.Before.EntryID, r.Before.StepID, p.To
	p.Last = PlaceID(entryID, stepID)
	p.ToID = p.Last
	for isStep, ok := r.takesStep(at); ok; isStep, ok = r.takesStep(at) {
		var events []Event
		if isStep {
			s := &r.Steps[0]
			events, at.Step, stepID, r.Steps = deriveStep(s), s.N, StepID(&s.Step), r.Steps[1:]
		} else {
			e := r.Entries[0]
			var err error
			if events, err = d.Derive(ctx, e); err != nil {
				return err
			}
			at.Version, entryID, r.Entries = e.Version(), EntryID(d.poolID, e), r.Entries[1:]
		}
		p.Note(at, PlaceID(entryID, stepID), events...)
	}
	return nil
}
