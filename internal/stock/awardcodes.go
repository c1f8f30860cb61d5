package stock

import (
	"cmp"
	"context"
	"io"

	"drawsvc/internal/draw"
	"drawsvc/internal/prizefile"
)

// claimedMax is the maximum number of claims that read their codes at the same time. They
// use a connection for changes, as draws do for their codes. Another such connection
// writes claims, and two remain for other changes.
const claimedMax = 1

// Claim claims the awards of a draw that need a claim, or only the award with the given
// ordinal (0 means all), and returns the draw as DrawWithCodes does. If this instance
// cannot open the draw's codes, nothing is claimed. Errors: CodeSealKeyMissing,
// CodeOutcomeUnknown if the codes could not be read after the claim, and those of
// [steps.Book.Claim].
func (s *Store) Claim(ctx context.Context, poolID, drawID, user string, ordinal int, actor string) (draw.Draw, error) {
	d, err := s.Book.Claim(ctx, poolID, drawID, user, ordinal, actor, s.CodesAway(poolID))
	switch draw.CodeOf(err) {
	case "":
		if err = s.readClaimed(ctx, &d); err != nil { // any other code would say that nothing happened
			err = &draw.Error{Code: draw.CodeOutcomeUnknown, Err: err, Detail: "the award was claimed, and could not be read afterwards; claim it again"}
		}
		return d, err
	case draw.CodeDrawNotFound, draw.CodeInvalidRequest: // a missing draw is reported as missing to every caller
		err = cmp.Or(s.whyNotClaimed(ctx, poolID, drawID), err)
	default:
	}
	return draw.Draw{}, err
}

// readClaimed completes a draw after its claim: a replayed claim is confirmed, and the
// codes are read.
func (s *Store) readClaimed(ctx context.Context, d *draw.Draw) (err error) {
	if err := s.claimed.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.claimed.Release(1)
	if d.Replayed {
		if err := s.confirm(ctx); err != nil {
			return err
		}
	}
	*d, err = s.withCodes(ctx, *d)
	return err
}

// whyNotClaimed returns why a draw cannot be read. It returns nil for a draw that can be
// read, and if the caller leaves first.
func (s *Store) whyNotClaimed(ctx context.Context, poolID, drawID string) error {
	if s.claimed.Acquire(ctx, 1) != nil {
		return nil
	}
	defer s.claimed.Release(1)
	_, err := s.Draw(ctx, poolID, drawID)
	return err
}

// ShowCode returns the code of an award, and writes a step that records this. Errors:
// CodeSealKeyMissing, without a step, and those of [steps.Book.Step].
func (s *Store) ShowCode(ctx context.Context, poolID string, version int64, actor string) (code string, err error) {
	if err := s.CodesAway(poolID); err != nil {
		if _, err := s.Life(ctx, poolID, version); err != nil {
			return "", err
		}
		return "", err
	}
	step, _, err := s.Step(ctx, poolID, draw.WantedStep{Award: version, What: draw.StepShown}, actor)
	if err != nil {
		return "", err
	}
	l, err := s.Life(ctx, poolID, version)
	if err != nil {
		return "", err
	}
	shown := draw.Draw{ID: step.DrawID, PoolID: poolID, Awards: []draw.Award{l.Award}}
	shown.Awards[0].HasCode, shown.Awards[0].AsksClaims = true, false
	if err := s.Register.HandOut(ctx, poolID, []*draw.Draw{&shown}); err != nil {
		return "", err
	}
	return shown.Awards[0].Code, nil
}

// StepFile writes the steps of a CSV file. Errors: CodeInvalidRequest for a file that
// cannot be read, those of w.MayStep, and those of [steps.Book.StepAll].
func (s *Store) StepFile(ctx context.Context, poolID string, file io.Reader, w draw.StepFile) (draw.SteppedFile, error) {
	wanted, encoding, err := prizefile.ReadSteps(file)
	if err != nil {
		return draw.SteppedFile{}, err
	}
	for i := range wanted {
		if err := w.MayStep(wanted[i].What); err != nil {
			return draw.SteppedFile{}, err
		}
	}
	done, err := s.StepAll(ctx, poolID, wanted, w.Actor, w.DryRun)
	done.Encoding = encoding
	return done, err
}
