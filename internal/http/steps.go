package http

import (
	"bytes"
	"cmp"
	"context"
	"io"

	"drawsvc/internal/access"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// Steps makes steps of awards.
type Steps interface {
	// Claim claims the award of a draw with the given ordinal, or for 0 all of its awards
	// that need a claim. This instance must be able to open their codes. Claim returns the
	// draw afterwards, with the codes that may be shown. The draw is marked as replayed if
	// the awards were already claimed.
	Claim(ctx context.Context, poolID, drawID, userID string, ordinal int, actor string) (draw.Draw, error)
	Step(ctx context.Context, poolID string, wanted draw.WantedStep, actor string) (made draw.Step, isThere bool, err error)
	// StepFile makes the steps of a CSV file, in parts, once all of them were checked.
	StepFile(ctx context.Context, poolID string, file io.Reader, w draw.StepFile) (draw.SteppedFile, error)
}

// StepReader reads the steps of a pool.
type StepReader interface {
	// StepsAfter returns at most limit steps with a number above after, in order.
	StepsAfter(ctx context.Context, poolID string, after int64, limit int) ([]draw.Step, error)
	LastStep(ctx context.Context, poolID string) (int64, error)
}

// Lives reads the states of awards, and their steps.
type Lives interface {
	Life(ctx context.Context, poolID string, version int64) (draw.Life, error)
	// FindByState returns at most limit awards in a state, as Finder does.
	FindByState(ctx context.Context, poolID string, f draw.AwardFilter, after int64, limit int) (found []draw.Life, through int64, err error)
	// ShowCode returns the code of an award, and records that it was shown.
	ShowCode(ctx context.Context, poolID string, version int64, actor string) (code string, err error)
}

// stepsPath is the path of the steps of a pool, and awardPath is the path of an award.
const (
	stepsPath = "/admin/pools/:pool/steps"
	awardPath = "/admin/pools/:pool/awards/:version"
)

// anyoneActor is recorded with the claim of a caller who needs no token, as with
// --public-draw.
const anyoneActor = "anyone"

// claimBody is the body of a claim.
type claimBody struct {
	User    string `json:"user"`
	Ordinal *int   `json:"ordinal"`
}

// claim answers POST /pools/{pool}/draws/{draw}/claim in the form of GET
// /pools/{pool}/draws/{draw}.
func (s *Server) claim(c call) error {
	var body claimBody
	if err := s.decode(c.gin.Request, &body); err != nil {
		return err
	}
	ordinal := 0
	if body.Ordinal != nil {
		if ordinal = *body.Ordinal; ordinal < 1 {
			return draw.Errorf(draw.CodeInvalidRequest, "ordinal must be 1 or more")
		}
	}
	made, err := placed(c, func(ctx context.Context) (draw.Draw, error) {
		return s.Store.Claim(ctx, c.param("pool"), c.param("draw"), body.User, ordinal, cmp.Or(c.actor(), anyoneActor))
	})
	if err != nil {
		return err
	}
	c.writeDraw(&made)
	return nil
}

// mayStep reports whether the caller's role may make a step. Error: CodeForbidden.
func (c call) mayStep(what draw.StepKind) error {
	isOfFulfil := what == draw.StepClaimed || what == draw.StepFulfilled || what == draw.StepReplaced || what == draw.StepShown
	if isOfFulfil || c.caller.Role == access.Admin {
		return nil
	}
	return draw.Errorf(draw.CodeForbidden, "a token of role %s may not make an award %s", c.caller.Role, what)
}

// postStep answers POST /admin/pools/{pool}/steps: one step as JSON, or a file of many
// steps.
func (s *Server) postStep(c call) error {
	if checkContentType(c.gin.Request.Header, typeCSV, "header") == nil {
		return s.postSteps(c)
	}
	if c.query.Has("dry_run") {
		return draw.Errorf(draw.CodeInvalidRequest, "dry_run is for text/csv")
	}
	return takes(func(ctx context.Context, c call, body *api.WantedStep) (api.StepDone, error) {
		wanted := body.Read()
		if err := wanted.Check(); err != nil {
			return api.StepDone{}, err
		}
		if err := c.mayStep(wanted.What); err != nil {
			return api.StepDone{}, err
		}
		made, isThere, err := s.Store.Step(ctx, c.param("pool"), wanted, c.actor())
		if err != nil {
			return api.StepDone{}, err
		}
		c.replayed(isThere)
		return api.StepDone{Step: api.ShowStep(&made), Replayed: isThere}, nil
	})(c)
}

// postSteps makes the steps of a file.
func (s *Server) postSteps(c call) error {
	dryRun, err := c.word("dry_run", "false", "true")
	if err != nil {
		return err
	}
	var done draw.SteppedFile
	err = c.importing(func(ctx context.Context, file io.Reader) error {
		done, err = s.Store.StepFile(ctx, c.param("pool"), file, draw.StepFile{Actor: c.actor(), DryRun: dryRun == "true", MayStep: c.mayStep})
		return err
	})
	if err != nil {
		return err
	}
	return c.writeJSON(api.ShowStepsDone(&done))
}

// steps answers GET /admin/pools/{pool}/steps.
func (s *Server) steps(ctx context.Context, c call) (api.Steps, error) {
	found, end, err := readPage(ctx, c, "pool", s.Store.StepsAfter, numberOfStep)
	return api.Steps{Steps: api.ShowEach(found, api.ShowStep), Next: end.Cursor}, err
}

func numberOfStep(s *draw.Step) int64 { return s.N }

// exportSteps streams the steps of a pool as CSV.
func (s *Server) exportSteps(c call) error {
	return exportRows(c, api.NewStepRows, api.ShowStep, export[draw.Step]{read: paged(s.Store.StepsAfter, numberOfStep), version: numberOfStep, end: s.lastStep})
}

// exportStepLines streams the steps, a line of JSON for each.
func (s *Server) exportStepLines(c call) error {
	var out bytes.Buffer
	x := export[draw.Step]{contentType: typeNDJSON, read: paged(s.Store.StepsAfter, numberOfStep), version: numberOfStep, end: s.lastStep}
	x.write = func(step *draw.Step) { _ = api.WriteLine(&out, api.ShowStep(step)) } // to memory: cannot fail
	return x.stream(c, &out)
}

// lastStep returns the number of the last step of the call's pool.
func (s *Server) lastStep(c call) (int64, error) {
	return placed(c, func(ctx context.Context) (int64, error) { return s.Store.LastStep(ctx, c.param("pool")) })
}

// award answers GET /admin/pools/{pool}/awards/{version}.
func (s *Server) award(ctx context.Context, c call) (api.WholeLife, error) {
	l, err := s.Store.Life(ctx, c.param("pool"), c.version())
	if err != nil {
		return api.WholeLife{}, err
	}
	return api.ShowWholeLife(&l), nil
}

// awardCode answers POST /admin/pools/{pool}/awards/{version}/code.
func (s *Server) awardCode(ctx context.Context, c call) (api.ShownCode, error) {
	code, err := s.Store.ShowCode(ctx, c.param("pool"), c.version(), c.actor())
	return api.ShownCode{Award: c.version(), Code: code}, err
}

// findLives answers GET /admin/pools/{pool}/awards with a state.
func (s *Server) findLives(ctx context.Context, c call) (answer api.Lives, err error) {
	f, _, err := c.filter()
	if err != nil {
		return answer, err
	}
	after, limit, err := c.pageWanted()
	if err != nil {
		return answer, err
	}
	found, through, err := s.Store.FindByState(ctx, c.param("pool"), f, after, int(limit))
	if err != nil {
		return answer, err
	}
	answer.Awards = api.ShowEach(found, api.ShowLife)
	answer.End, err = s.endOfSearch(ctx, c, after, through)
	return answer, err
}

// exportLives streams the awards of a state as CSV.
func (s *Server) exportLives(c call) error {
	f, _, err := c.filter()
	if err != nil {
		return err
	}
	read := func(ctx context.Context, poolID string, after int64, limit int) ([]draw.Life, int64, error) {
		return s.Store.FindByState(ctx, poolID, f, after, limit)
	}
	return exportRows(c, api.NewLifeRows, api.ShowLife, export[draw.Life]{read: read, version: func(l *draw.Life) int64 { return l.Award.Version }})
}

// byState returns a handler that uses of for calls that name a state, and others for the
// rest.
func byState(of, others handler) handler {
	return func(c call) error {
		if c.query.Has("state") {
			return of(c)
		}
		return others(c)
	}
}
