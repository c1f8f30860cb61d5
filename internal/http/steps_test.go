package http

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
)

// stepAsked is the request about steps that a fake store got.
type stepAsked struct {
	draw.WantedStep
	pool, actor, file string
}

func fakeStep(award int64) draw.Step {
	return draw.Step{N: 17, Award: award, Seq: 1, What: draw.StepFulfilled, State: draw.AwardFulfilled, DrawID: "d", Ordinal: 1, PrizeID: "gold", Reference: "DHL", Actor: "depot"}
}

func (f fakeStore) Claim(ctx context.Context, poolID, drawID, _ string, _ int, actor string) (draw.Draw, error) {
	if err := f.note(stepAsked{pool: poolID, actor: actor}); err != nil {
		return draw.Draw{}, err
	}
	return f.Draw(ctx, poolID, drawID)
}

func (f fakeStore) Step(_ context.Context, poolID string, w draw.WantedStep, actor string) (draw.Step, bool, error) {
	return fakeStep(w.Award), false, f.note(stepAsked{WantedStep: w, pool: poolID, actor: actor})
}

func (f fakeStore) StepFile(_ context.Context, poolID string, file io.Reader, w draw.StepFile) (draw.SteppedFile, error) {
	text, err := io.ReadAll(file)
	if err != nil {
		return draw.SteppedFile{}, err
	}
	return draw.SteppedFile{Lines: 2, Written: 1, Unchanged: 1, DryRun: w.DryRun, Encoding: draw.EncodingUTF8}, f.note(stepAsked{pool: poolID, actor: w.Actor, file: string(text)})
}

func (f fakeStore) StepsAfter(context.Context, string, int64, int) ([]draw.Step, error) {
	return []draw.Step{fakeStep(3)}, f.note("steps")
}

func (f fakeStore) LastStep(context.Context, string) (int64, error) { return 17, f.note("last step") }

func (f fakeStore) Life(_ context.Context, _ string, version int64) (draw.Life, error) {
	a := award("d", "u")
	a.Version, a.Redirect = version, &draw.Redirect{Drawn: "gold", Why: draw.WhyLimit}
	return draw.Life{Award: a, State: draw.AwardFulfilled, Since: at, NeedsClaim: true, Until: at, Reference: "DHL", Steps: []draw.Step{fakeStep(version)}}, f.note("life")
}

func (f fakeStore) FindByState(context.Context, string, draw.AwardFilter, int64, int) ([]draw.Life, int64, error) {
	return []draw.Life{{Award: award("d", "u"), State: draw.AwardClaimed}}, 1 << 40, f.note("found")
}

func (f fakeStore) ShowCode(context.Context, string, int64, string) (string, error) {
	return "AAAA", f.note("code")
}

// TestStepsAreOfTheirRoles: the role fulfil may make the steps of its work, but no step
// that ends an award.
func TestStepsAreOfTheirRoles(t *testing.T) {
	t.Parallel()
	c := draw.LifeFacts{}
	_, refusal := draw.Next(draw.AwardWon, draw.StepClaimed, c)
	require.Equal(t, draw.CodeNothingToClaim, refusal)
	for _, what := range []draw.StepKind{draw.StepVoided, draw.StepReopened} {
		require.Equal(t, draw.CodeForbidden, draw.CodeOf(call{caller: &access.Token{Role: access.Fulfil}}.mayStep(what)))
		require.NoError(t, call{caller: &access.Token{Role: access.Admin}}.mayStep(what))
	}
	require.NoError(t, call{caller: &access.Token{Role: access.Fulfil}}.mayStep(draw.StepFulfilled))
}
