package steps

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// The rules of an audit about steps.
const (
	ruleStepGap        = "step-gap"        // the steps of a pool are 1 to its head
	ruleStepUnlawful   = "step-unlawful"   // each step follows from the state before it
	ruleExpiredEarly   = "expired-early"   // no award expires before its deadline
	ruleExpiredClaimed = "expired-claimed" // no award expires that was claimed
	ruleReturnUnlawful = "return-unlawful" // what a step says has returned is a move of its prize
)

// auditPage is how many awards with steps are read at once.
const auditPage = 500

// AuditSteps checks the steps of a pool, in a snapshot. found is called with each violation.
func (b *Book) AuditSteps(ctx context.Context, tx *sql.Tx, poolID string, found func(rule, format string, args ...any)) error {
	if b.ledger.Engine.Lacks(engine.PartSteps) {
		return nil
	}
	a := &audit{book: b, tx: tx, poolID: poolID, found: found, returned: map[int64]*returned{}}
	for after, isLast := int64(0), false; !isLast; {
		query := b.ledger.SelectFrom("steps", "DISTINCT award").Where(squirrel.Eq{"pool_id": poolID}).Where(squirrel.Gt{"award": after}).
			OrderBy("award").Limit(auditPage)
		versions, err := ledger.SelectAll(ctx, tx, query, ledger.ScanInt)
		if err != nil {
			return err
		}
		if isLast = len(versions) < auditPage; len(versions) == 0 {
			break
		}
		if err := a.awards(ctx, versions); err != nil {
			return err
		}
		after = versions[len(versions)-1]
	}
	if err := a.head(ctx); err != nil {
		return err
	}
	return a.returns(ctx)
}

type audit struct {
	book   *Book
	tx     *sql.Tx
	poolID string
	found  func(rule, format string, args ...any)
	// claimed counts the awards in that state. returned are the moves that steps name.
	claimed  int64
	returned map[int64]*returned
}

// returned is what steps say of a move.
type returned struct {
	prize string
	what  draw.StepKind
	units int64
}

// stepRow is a step with what only its row says.
type stepRow struct {
	draw.Step
	stands string
	ended  int64
}

// awards checks the steps of some awards.
func (a *audit) awards(ctx context.Context, versions []int64) error {
	lives, e, err := a.book.readAwards(ctx, a.tx, a.poolID, versions)
	if err != nil {
		return err
	}
	query := a.book.selectSteps(a.poolID).Columns("COALESCE(s.stands, '')", "COALESCE(s.ended, 0)").Where(among("s.award", versions)).OrderBy("s.award", "s.seq")
	rows, err := ledger.SelectAll(ctx, a.tx, query, func(row engine.Scanner) (r stepRow, err error) {
		s := &r.Step
		err = row.Scan(&s.N, &s.Award, &s.Seq, (*string)(&s.What), (*string)(&s.State), engine.ScanTime(&s.Since), &s.Reference, &s.Reason, &s.Returned,
			&s.Actor, engine.ScanTime(&s.At), &s.DrawID, &s.Ordinal, &s.PrizeID, &r.stands, &r.ended)
		return r, err
	})
	if err != nil {
		return err
	}
	byAward := map[int64][]stepRow{}
	for i := range rows {
		byAward[rows[i].Award] = append(byAward[rows[i].Award], rows[i])
	}
	for _, version := range slices.Sorted(maps.Keys(byAward)) {
		if lives[version] == nil {
			a.found(ruleStepUnlawful, "step %d is of version %d, which does not exist as an award", byAward[version][0].N, version)
			continue
		}
		a.award(lives[version], byAward[version], e)
	}
	return nil
}

// award follows the life of one award.
func (a *audit) award(l *draw.Life, steps []stepRow, e *eras) {
	l.WasShown = l.HasCode && !l.NeedsClaim
	last := int64(0) // the step that made the state
	for i := range steps {
		s := &steps[i]
		if s.Seq != int64(i)+1 {
			a.found(ruleStepUnlawful, "step %d is step %d of the award of version %d, and should be its step %d", s.N, s.Seq, s.Award, i+1)
		}
		a.step(l, s, e)
		if take(l, &s.Step); !s.What.IsOfCode() {
			last = s.N
		}
	}
	for i := range steps {
		s, stands := &steps[i], ""
		if s.N == last {
			stands = string(s.State)
		}
		if s.stands != stands || s.ended != 0 != s.State.HasEnded() || s.ended != 0 && s.ended != s.Award {
			a.found(ruleStepUnlawful, "the row of step %d does not say whether its state stands, or has ended its award", s.N)
		}
	}
	if l.State == draw.AwardClaimed {
		a.claimed++
	}
}

func (a *audit) step(l *draw.Life, s *stepRow, e *eras) {
	f := draw.LifeFacts{
		IsBlank: l.Award.Blank, NeedsClaim: l.NeedsClaim, IsPast: s.What == draw.StepExpired, HasCode: l.HasCode, WasShown: l.WasShown,
		HasReserve: true, Returns: s.Returned != 0 && s.What == draw.StepVoided,
	}
	switch next, refusal := draw.Next(l.State, s.What, f); {
	case s.What == draw.StepExpired && l.State != draw.AwardWon && !l.State.HasEnded():
		a.found(ruleExpiredClaimed, "step %d expires the award of version %d, which was %s", s.N, s.Award, l.State)
	case refusal != "":
		a.found(ruleStepUnlawful, "step %d cannot follow: the award of version %d was %s, and is %s (%s)", s.N, s.Award, l.State, s.What, refusal)
	case next != s.State:
		a.found(ruleStepUnlawful, "step %d says that the award of version %d is %s, and it is %s", s.N, s.Award, s.State, next)
	}
	if at := e.earliest(&l.Award); s.What == draw.StepExpired && l.NeedsClaim && (at.IsZero() || s.At.Before(at)) {
		a.found(ruleExpiredEarly, "step %d expires the award of version %d before its deadline", s.N, s.Award)
	}
	if s.Returned == 0 {
		return
	}
	r := a.returned[s.Returned]
	switch {
	case s.What != draw.StepVoided && s.What != draw.StepExpired:
		a.found(ruleReturnUnlawful, "step %d is %s, and names a move", s.N, s.What)
		return
	case r == nil:
		r = &returned{prize: s.PrizeID, what: s.What}
		a.returned[s.Returned] = r
	case r.prize != s.PrizeID || r.what != s.What:
		a.found(ruleReturnUnlawful, "step %d names the move of version %d, which is of other awards", s.N, s.Returned)
		return
	}
	r.units++
}

// earliest is the deadline that an award was made with: later rules only extend it.
func (e *eras) earliest(award *draw.Award) (at time.Time) {
	r, err := e.at(award.Version)
	if claims := draw.ClaimsOf(r); err == nil && claims != nil {
		at = claims.Deadline(award, nil)
	}
	return at
}

// head checks that the steps are numbered without gap.
func (a *audit) head(ctx context.Context) error {
	ofPool := squirrel.Eq{"pool_id": a.poolID}
	heads, err := ledger.SelectAll(ctx, a.tx, a.book.ledger.SelectFrom("step_heads", "n", "claimed", "settled").Where(ofPool), scanHead)
	if err != nil {
		return err
	}
	var h head
	if len(heads) > 0 {
		h = heads[0]
	}
	var n, first, last int64
	query := a.book.ledger.SelectFrom("steps", "COUNT(*)", "COALESCE(MIN(n), 1)", "COALESCE(MAX(n), 0)").Where(ofPool)
	if err := query.RunWith(a.tx).QueryRowContext(ctx).Scan(&n, &first, &last); err != nil {
		return err
	}
	if n != h.n || last != h.n || first != 1 {
		a.found(ruleStepGap, "the last step is %d; there are %d, from %d to %d", h.n, n, first, last)
	}
	if a.claimed != h.claimed {
		a.found(ruleStepGap, "the pool says that %d awards are claimed, and %d are", h.claimed, a.claimed)
	}
	return nil
}

// returns compares what steps say has returned with the moves.
func (a *audit) returns(ctx context.Context) error {
	for part := range chunks(slices.Sorted(maps.Keys(a.returned))) {
		moves, err := ledger.SelectAll(ctx, a.tx, a.book.ledger.SelectMoves(a.poolID).Where(among("version", part)), a.book.ledger.ScanMove(a.poolID))
		if err != nil {
			return err
		}
		byVersion := map[int64]*draw.Move{}
		for i := range moves {
			byVersion[moves[i].Version] = &moves[i]
		}
		for _, version := range part {
			r, m := a.returned[version], byVersion[version]
			if m == nil || m.PrizeID != r.prize || m.Delta != r.units || m.Reason != string(r.what) {
				a.found(ruleReturnUnlawful, "%s as returned by version %d, which is another entry", fmt.Sprintf("%d units of prize %q are stated", r.units, r.prize), version)
			}
		}
	}
	return nil
}
