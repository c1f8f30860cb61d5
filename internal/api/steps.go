package api

import (
	"context"
	"io"
	"net/http"
	"strconv"

	"drawsvc/internal/draw"
)

// WantedStep is a requested step.
type WantedStep struct {
	Award     int64           `json:"award"`
	To        draw.StepKind   `json:"to"`
	Reference string          `json:"reference,omitempty"`
	Reason    string          `json:"reason,omitempty"`
	From      draw.AwardState `json:"from,omitempty"`
	Return    bool            `json:"return,omitempty"`
}

// Read returns the requested step.
func (w *WantedStep) Read() draw.WantedStep {
	return draw.WantedStep{Award: w.Award, What: w.To, Reference: w.Reference, Reason: w.Reason, From: w.From, Return: w.Return}
}

// Step is a step in the life of an award.
type Step struct {
	N         int64           `json:"n"`
	Award     int64           `json:"award"`
	To        draw.StepKind   `json:"to"`
	State     draw.AwardState `json:"state"`
	Draw      string          `json:"draw"`
	Ordinal   int             `json:"ordinal"`
	Prize     string          `json:"prize"`
	Reference string          `json:"reference"`
	Reason    string          `json:"reason"`
	// Returned is the version of the move that put the unit back, null for none.
	Returned *int64 `json:"returned"`
	Actor    string `json:"actor"`
	At       string `json:"at"`
}

// ShowStep converts a step to its response type.
func ShowStep(s *draw.Step) Step {
	shown := Step{s.N, s.Award, s.What, s.State, s.DrawID, s.Ordinal, s.PrizeID, s.Reference, s.Reason, nil, s.Actor, ShowTime(s.At)}
	if s.Returned != 0 {
		shown.Returned = &s.Returned
	}
	return shown
}

// StepDone is the answer to a requested step.
type StepDone struct {
	Step Step `json:"step"`
	// Replayed means that the award was already in the state that the step leads to.
	Replayed bool `json:"replayed"`
}

// StepsDone is the answer to a file of steps.
type StepsDone struct {
	Lines     int  `json:"lines"`
	Written   int  `json:"written"`
	Unchanged int  `json:"unchanged"`
	DryRun    bool `json:"dry_run"`
	// Encoding is the file's encoding.
	Encoding draw.Encoding `json:"encoding"`
}

// ShowStepsDone converts the result of a file of steps to its response type.
func ShowStepsDone(d *draw.SteppedFile) StepsDone {
	return StepsDone{d.Lines, d.Written, d.Unchanged, d.DryRun, d.Encoding}
}

// Steps is a page of steps.
type Steps struct {
	Steps []Step `json:"steps"`
	// Next is the parameter after of the next page, even if that page is still empty.
	Next int64 `json:"next"`
}

// Life is an award with its state.
type Life struct {
	Award
	State draw.AwardState `json:"state"`
	Since string          `json:"since"`
	// Reference is "" unless the award is fulfilled.
	Reference string `json:"reference"`
}

// Lives is a page of awards in a state.
type Lives struct {
	Awards []Life `json:"awards"`
	End
}

// ShowLife converts an award with its state to its response type.
func ShowLife(l *draw.Life) Life {
	return Life{ShowAward(&l.Award), l.State, ShowTime(l.Since), l.Reference}
}

// WholeLife is a life with its steps.
type WholeLife struct {
	Life
	NeedsClaim bool `json:"needs_claim"`
	// ClaimUntil is null without a deadline.
	ClaimUntil *string `json:"claim_until"`
	Steps      []Step  `json:"steps"`
}

// ShowWholeLife converts a life with its steps to its response type.
func ShowWholeLife(l *draw.Life) WholeLife {
	return WholeLife{ShowLife(l), l.NeedsClaim, ShowTimeOrNull(l.Until), ShowEach(l.Steps, ShowStep)}
}

// ShownCode is the code of an award.
type ShownCode struct {
	Award int64  `json:"award"`
	Code  string `json:"code"`
}

func stepsPath(poolID string) string { return poolPath(poolID, "steps") }

// Step makes a step of an award. Errors: CodeInvalidRequest, CodePoolNotFound,
// CodeAwardNotFound, CodeChangedMeanwhile, and the refusals of a step.
func (c *Client) Step(ctx context.Context, poolID string, w *draw.WantedStep) (StepDone, error) {
	call := newCall(http.MethodPost, stepsPath(poolID))
	return send[StepDone](ctx, c, call, WantedStep{w.Award, w.What, w.Reference, w.Reason, w.From, w.Return})
}

// StepAll makes the steps of a file. If the file is sent again, only the missing steps
// are made. Errors: CodeInvalidRequest, CodePoolNotFound, CodeBodyTooLarge,
// CodeOverloaded, and the refusals of a step.
func (c *Client) StepAll(ctx context.Context, poolID string, file io.Reader, dryRun bool) (StepsDone, error) {
	path := stepsPath(poolID)
	if dryRun {
		path += "?dry_run=true"
	}
	return fetch[StepsDone](ctx, c, newImport(path, "", file))
}

// Steps returns the steps of a pool with numbers above after, up to the last one. Error:
// CodePoolNotFound.
func (c *Client) Steps(ctx context.Context, poolID string, after int64) (all Steps, err error) {
	for all.Next = after; ; {
		page, err := seeList[Steps](ctx, c, stepsPath(poolID)+"?"+pageOf(all.Next).Encode())
		if err != nil || len(page.Steps) == 0 {
			return all, err
		}
		if err := checkNext(all.Next, page.Next); err != nil {
			return all, err
		}
		all.Steps, all.Next = append(all.Steps, page.Steps...), page.Next
	}
}

// Lives returns the awards of a pool that are in a state, in order. Errors:
// CodeInvalidRequest, CodePoolNotFound.
func (c *Client) Lives(ctx context.Context, poolID string, state draw.AwardState) (all Lives, err error) {
	for after := int64(0); ; {
		query := pageOf(after)
		query.Set("state", string(state))
		page, err := seeList[Lives](ctx, c, poolPath(poolID, "awards")+"?"+query.Encode())
		if err := checkPage(err, after, page.Next); err != nil {
			return all, err
		}
		all.Awards, all.End = append(all.Awards, page.Awards...), page.End
		if page.Next == nil {
			return all, nil
		}
		after = *page.Next
	}
}

// Life returns an award with its steps. Errors: CodePoolNotFound, CodeAwardNotFound.
func (c *Client) Life(ctx context.Context, poolID string, version int64) (WholeLife, error) {
	return see[WholeLife](ctx, c, poolPath(poolID, "awards", strconv.FormatInt(version, 10)))
}

// ShowCode returns the code of an award. The service records that it was shown. Errors:
// CodePoolNotFound, CodeAwardNotFound, CodeSealKeyMissing, and the refusals of a step.
func (c *Client) ShowCode(ctx context.Context, poolID string, version int64) (ShownCode, error) {
	return fetch[ShownCode](ctx, c, newCall(http.MethodPost, poolPath(poolID, "awards", strconv.FormatInt(version, 10), "code")))
}
