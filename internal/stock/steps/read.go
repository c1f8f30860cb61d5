package steps

import (
	"cmp"
	"context"
	"database/sql"
	"iter"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

const (
	// versionsMax is the maximum number of awards that one statement names.
	versionsMax = 500
	// gapsMax is the maximum number of rows in a range for each wanted row.
	gapsMax = 4
)

// among returns the condition that a column has one of the given numbers, which are in
// order. It may also match other numbers between them. Without statistics, PostgreSQL
// reads the whole pool for a long list of numbers. For a range, it reads only the rows of
// the range.
func among(column string, numbers []int64) squirrel.And {
	first, last := numbers[0], numbers[len(numbers)-1]
	within := squirrel.And{squirrel.GtOrEq{column: first}, squirrel.LtOrEq{column: last}}
	if last-first < int64(len(numbers))*gapsMax {
		return within
	}
	return append(within, squirrel.Eq{column: numbers})
}

func chunks(versions []int64) iter.Seq[[]int64] { return slices.Chunk(versions, versionsMax) }

// stepColumns are the columns of steps AS s, and of their awards AS a.
func stepColumns() []string {
	return []string{
		"s.n", "s.award", "s.seq", "s.what", "s.state", "s.since", "s.reference", "s.reason", "COALESCE(s.returned, 0)", "s.actor", "s.at",
		"COALESCE(a.draw_id, '')", "COALESCE(a.ordinal, 0)", "COALESCE(a.prize_id, '')",
	}
}

const awardOfStep = "LEFT JOIN awards AS a ON a.pool_id = s.pool_id AND a.version = s.award"

// selectSteps selects the steps of a pool AS s, each with columns of its award.
func (b *Book) selectSteps(poolID string) squirrel.SelectBuilder {
	return b.ledger.SelectFrom("steps AS s "+awardOfStep, stepColumns()...).Where(squirrel.Eq{"s.pool_id": poolID})
}

// selectStepsOf selects the steps of awards, each award's in order, in a transaction that
// finds rows by key.
func (b *Book) selectStepsOf(poolID string, versions []int64) squirrel.SelectBuilder {
	if b.ledger.Engine.StepsOf == "" {
		return b.selectSteps(poolID).Where(among("s.award", versions)).OrderBy("s.award", "s.seq")
	}
	return b.ledger.SelectFrom("pools AS own", stepColumns()...).JoinClause(b.ledger.Engine.StepsOf, versions).JoinClause(awardOfStep).
		Where(squirrel.Eq{"own.id": poolID})
}

func scanStep(poolID string) func(engine.Scanner) (draw.Step, error) {
	return func(row engine.Scanner) (draw.Step, error) {
		s := draw.Step{PoolID: poolID}
		err := row.Scan(&s.N, &s.Award, &s.Seq, (*string)(&s.What), (*string)(&s.State), engine.ScanTime(&s.Since), &s.Reference, &s.Reason, &s.Returned,
			&s.Actor, engine.ScanTime(&s.At), &s.DrawID, &s.Ordinal, &s.PrizeID)
		return s, err
	}
}

// StepsAfter returns at most limit steps of a pool with numbers greater than after, in
// order. Errors: CodePoolNotFound, and those of the store.
func (b *Book) StepsAfter(ctx context.Context, poolID string, after int64, limit int) (steps []draw.Step, err error) {
	err = b.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		steps, err = b.ReadStepsAfter(ctx, tx, poolID, after, limit)
		return err
	})
	return steps, err
}

// ReadStepsAfter is StepsAfter in the caller's snapshot.
func (b *Book) ReadStepsAfter(ctx context.Context, q engine.Querier, poolID string, after int64, limit int) ([]draw.Step, error) {
	if b.ledger.Engine.Lacks(engine.PartSteps) {
		return nil, nil
	}
	query := b.selectSteps(poolID).Where(squirrel.Gt{"s.n": after}).OrderBy("s.n").Limit(uint64(limit)) //nolint:gosec // checked by the caller
	return ledger.SelectAll(ctx, q, query, scanStep(poolID))
}

// LastStep returns the number of the last step of a pool, 0 for none. Errors:
// CodePoolNotFound, and those of the store.
func (b *Book) LastStep(ctx context.Context, poolID string) (n int64, err error) {
	err = b.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		n, err = b.ledger.LastStep(ctx, tx, poolID)
		return err
	})
	return n, err
}

// eras holds all rules that a pool has had, in order of their versions, if any of them
// had claims. from is the version of the first rules with claims, 0 for none.
type eras struct {
	from int64
	all  []draw.Ruling
	// now are the rules in force, nil for none.
	now *draw.Rules
}

// readEras reads the eras of a pool. They are empty if its rules never had claims.
func (b *Book) readEras(ctx context.Context, q engine.Querier, poolID string) (*eras, error) {
	e := &eras{}
	query := b.ledger.SelectFrom("pools", "claims_from").Where(squirrel.Eq{"id": poolID})
	found, err := ledger.SelectAll(ctx, q, query, ledger.ScanInt)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, engine.PoolNotFound(poolID)
	}
	if e.from = found[0]; e.from == 0 {
		return e, nil
	}
	if e.all, err = b.ledger.Rulings(ctx, q, poolID); err != nil {
		return nil, err
	}
	if n := len(e.all); n > 0 {
		e.now = e.all[n-1].Rules
	}
	return e, nil
}

// at returns the rules in force at a version, nil for none. Error: CodeRulesUnreadable.
func (e *eras) at(version int64) (*draw.Rules, error) {
	n, _ := slices.BinarySearchFunc(e.all, version, func(r draw.Ruling, v int64) int {
		if r.Version < v {
			return -1
		}
		return 1
	})
	if n == 0 {
		return nil, nil
	}
	r := e.all[n-1].Rules
	if why := r.Unreadable(); why != nil {
		return nil, draw.Unreadable("the rules of version %d", why, e.all[n-1].Version)
	}
	return r, nil
}

// of sets the rules on claims that apply to an award.
func (e *eras) of(l *draw.Life) error {
	if e.from == 0 || l.Award.Version < e.from || l.Award.Blank {
		return nil
	}
	r, err := e.at(l.Award.Version)
	if err != nil {
		return err
	}
	claims := draw.ClaimsOf(r)
	if l.NeedsClaim = claims.NeedsClaim(&l.Award); !l.NeedsClaim {
		return nil
	}
	if why := e.now.Unreadable(); why != nil {
		return draw.Unreadable("the rules in force", why)
	}
	l.Until = claims.Deadline(&l.Award, draw.ClaimsOf(e.now))
	return nil
}

// returns reports whether the unit of an award returns when it expires.
func (e *eras) returns(a *draw.Award) bool {
	r, err := e.at(a.Version)
	claims := draw.ClaimsOf(r)
	return err == nil && claims != nil && claims.Return
}

// readAwards reads the awards at the given versions, and the rules on claims.
func (b *Book) readAwards(ctx context.Context, q engine.Querier, poolID string, versions []int64) (map[int64]*draw.Life, *eras, error) {
	e, err := b.readEras(ctx, q, poolID)
	if err != nil {
		return nil, nil, err
	}
	lives := make(map[int64]*draw.Life, len(versions))
	versions = slices.Sorted(slices.Values(versions))
	for part := range chunks(versions) {
		query, scan := b.ledger.SelectCodedAwards(poolID)
		found, err := ledger.SelectAll(ctx, q, query.Where(among("a.version", part)).OrderBy("a.version"), scan)
		if err != nil {
			return nil, nil, err
		}
		found = slices.DeleteFunc(found, func(a draw.Award) bool {
			_, isWanted := slices.BinarySearch(part, a.Version)
			return !isWanted
		})
		if err := e.begin(lives, found); err != nil {
			return nil, nil, err
		}
	}
	return lives, e, nil
}

// begin adds the lives of awards, without steps.
func (e *eras) begin(lives map[int64]*draw.Life, awards []draw.Award) error {
	for i := range awards {
		l := &draw.Life{Award: awards[i], State: draw.AwardWon, Since: awards[i].At, HasCode: awards[i].HasCode}
		if err := e.of(l); err != nil {
			return err
		}
		lives[l.Award.Version] = l
	}
	return nil
}

// addSteps reads the steps of awards.
func (b *Book) addSteps(ctx context.Context, q engine.Querier, poolID string, lives map[int64]*draw.Life) error {
	versions := make([]int64, 0, len(lives))
	for version := range lives {
		versions = append(versions, version)
	}
	slices.Sort(versions)
	for part := range chunks(versions) {
		found, err := ledger.SelectAll(ctx, q, b.selectStepsOf(poolID, part), scanStep(poolID))
		if err != nil {
			return err
		}
		for i := range found {
			if l := lives[found[i].Award]; l != nil {
				take(l, &found[i])
			}
		}
	}
	for _, l := range lives {
		l.WasShown = l.WasShown || l.HasCode && !l.NeedsClaim
	}
	return nil
}

// take adds the next step to the life of an award.
func take(l *draw.Life, s *draw.Step) {
	l.Steps = append(l.Steps, *s)
	if advance(l, s.What, s.State); s.What.IsOfCode() {
		return
	}
	l.Since = s.Since
	if l.Reference = ""; s.State == draw.AwardFulfilled {
		l.Reference = s.Reference
	}
}

// advance sets the state of an award after a step.
func advance(l *draw.Life, what draw.StepKind, state draw.AwardState) {
	switch what {
	case draw.StepClaimed, draw.StepFulfilled, draw.StepShown:
		l.WasShown = l.HasCode
	case draw.StepReopened, draw.StepVoided, draw.StepExpired, draw.StepReplaced:
	}
	if !what.IsOfCode() {
		l.State = state
	}
}

// standing returns the step that led to the current state of an award, nil for none.
func standing(l *draw.Life) *draw.Step {
	for i := len(l.Steps) - 1; i >= 0; i-- {
		if !l.Steps[i].What.IsOfCode() {
			return &l.Steps[i]
		}
	}
	return nil
}

// isPast reports whether the deadline of an award has passed.
func isPast(l *draw.Life, now time.Time) bool { return !l.Until.IsZero() && !now.Before(l.Until) }

// showNow sets the state of a life to the current, publicly visible state. Later rules
// extend the deadline only of open awards.
func (e *eras) showNow(l *draw.Life, now time.Time) error {
	state := draw.StateNow(l.State, draw.LifeFacts{NeedsClaim: l.NeedsClaim, IsPast: isPast(l, now)})
	if state != l.State {
		l.State, l.Since = state, l.Until
	}
	switch {
	case !l.NeedsClaim:
	case l.State == draw.AwardExpired:
		l.Until = l.Since
	case l.State == draw.AwardVoided:
		r, err := e.at(l.Award.Version)
		if err != nil {
			return err
		}
		l.Until = draw.ClaimsOf(r).Deadline(&l.Award, nil)
	}
	return nil
}

// ReadLives reads the lives of awards of a pool, in a snapshot, by their versions.
func (b *Book) ReadLives(ctx context.Context, q engine.Querier, poolID string, versions []int64) (map[int64]*draw.Life, error) {
	lives, e, err := b.readAwards(ctx, q, poolID, versions)
	if err != nil {
		return nil, err
	}
	return lives, b.bringUp(ctx, q, poolID, e, lives)
}

// bringUp adds the steps of awards, and the awards' current, publicly visible state.
func (b *Book) bringUp(ctx context.Context, q engine.Querier, poolID string, e *eras, lives map[int64]*draw.Life) error {
	if err := b.addSteps(ctx, q, poolID, lives); err != nil {
		return err
	}
	now, err := b.ledger.DatabaseTime(ctx, q)
	for _, l := range lives {
		err = cmp.Or(err, e.showNow(l, now))
	}
	return err
}

// Life returns an award with its steps and its state. Errors: CodePoolNotFound,
// CodeAwardNotFound, and those of the store.
func (b *Book) Life(ctx context.Context, poolID string, version int64) (l draw.Life, err error) {
	err = b.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		if err := b.checkSchema(); err != nil {
			return err
		}
		lives, err := b.ReadLives(ctx, tx, poolID, []int64{version})
		if err != nil {
			return err
		}
		if lives[version] == nil {
			return b.ledger.Absent(ctx, tx, errNoAward(poolID, version))
		}
		l = *lives[version]
		return nil
	})
	return l, err
}

func errNoAward(poolID string, version int64) error {
	return draw.Errorf(draw.CodeAwardNotFound, "pool %q has no award of version %d", poolID, version)
}

// LivesOf reads the lives of the awards of a draw. A life is nil if its award has no
// steps and needs no claim. The list is nil if all lives are nil. Award.AsksClaims states
// whether the pool's rules ever had claims.
func (b *Book) LivesOf(ctx context.Context, q engine.Querier, poolID string, awards []draw.Award) ([]*draw.Life, error) {
	isTold := slices.ContainsFunc(awards, func(a draw.Award) bool { return a.AsksClaims || a.HasCode })
	if b.ledger.Engine.Lacks(engine.PartSteps) || !isTold {
		return nil, nil
	}
	e, err := b.readEras(ctx, q, poolID)
	if err != nil {
		return nil, err
	}
	lives := make(map[int64]*draw.Life, len(awards))
	if err := e.begin(lives, awards); err != nil {
		return nil, err
	}
	if err := b.bringUp(ctx, q, poolID, e, lives); err != nil {
		return nil, err
	}
	return tell(lives, awards), nil
}

// tell returns the lives of awards, nil for an award without steps that needs no claim.
func tell(lives map[int64]*draw.Life, awards []draw.Award) []*draw.Life {
	all := make([]*draw.Life, len(awards))
	for i := range awards {
		awards[i].AsksClaims = false
		if l := lives[awards[i].Version]; l != nil && l.IsTold() {
			all[i] = l
		}
	}
	return all
}

// MarkClaims sets, in the awards of draws of one pool, whether they need a claim and
// until when, by the rules at their versions. Errors: CodeRulesUnreadable, and those of
// the store.
func (b *Book) MarkClaims(ctx context.Context, poolID string, draws []*draw.Draw) error {
	asks := func(a draw.Award) bool { return a.AsksClaims }
	if !slices.ContainsFunc(draws, func(d *draw.Draw) bool { return slices.ContainsFunc(d.Awards, asks) }) {
		return nil
	}
	return b.ledger.SnapshotOn(ctx, b.ledger.Engine.ReadBack, func(tx *sql.Tx) error {
		e, err := b.readEras(ctx, tx, poolID)
		if err != nil {
			return err
		}
		for _, d := range draws {
			for i := range d.Awards {
				a := &d.Awards[i]
				if !a.AsksClaims {
					continue
				}
				r, err := e.at(a.Version)
				if err != nil {
					return err
				}
				draw.ClaimsOf(r).MarkClaim(a)
			}
		}
		return nil
	})
}
