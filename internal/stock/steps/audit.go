package steps

import (
	"context"
	"database/sql"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// The rules of an audit about steps.
const (
	ruleStepGap        = "step-gap"        // the steps of a pool are numbered from 1 to its head
	ruleStepUnlawful   = "step-unlawful"   // each step follows from the state before it
	ruleExpiredEarly   = "expired-early"   // no award expires before its deadline
	ruleExpiredClaimed = "expired-claimed" // no claimed award expires
	ruleReturnUnlawful = "return-unlawful" // each step that returns a unit has a move of its prize
)

// AuditSteps begins to check the steps of an audited pool. The steps are read once, in
// the order of their awards, while the history is read.
func (b *Book) AuditSteps(ctx context.Context, of *ledger.Audited, found ledger.Found) (ledger.Judge, error) {
	if b.ledger.Engine.Lacks(engine.PartSteps) {
		return ledger.Judge{}, nil
	}
	e, err := b.readEras(ctx, of, of.PoolID)
	if err != nil {
		return ledger.Judge{}, err
	}
	a := &audit{Audited: of, book: b, found: found, eras: e, prizes: make(map[string]*draw.Prize, len(of.Prizes)), returned: map[int64]*returned{}}
	for i := range of.Prizes {
		a.prizes[of.Prizes[i].ID] = &of.Prizes[i]
	}
	a.steps = stepPages{after: math.MinInt64, seq: math.MinInt64, read: func(page []stepRow, after, seq int64) ([]stepRow, error) { return a.readPage(ctx, page, after, seq) }}
	return ledger.Judge{
		Take: a.take,
		End: func() error {
			if err := a.skipWhile(func(int64) bool { return true }); err != nil {
				return err
			}
			if err := a.head(ctx); err != nil {
				return err
			}
			return a.returns(ctx)
		},
	}, nil
}

type audit struct {
	*ledger.Audited
	book   *Book
	found  ledger.Found
	eras   *eras
	prizes map[string]*draw.Prize
	steps  stepPages
	life   draw.Life
	own    []stepRow // the steps of one award
	// count is the number of steps; first and last are their lowest and highest number.
	count, first, last int64
	// claimed counts the awards in that state. returned are the moves that steps name, by
	// version.
	claimed  int64
	returned map[int64]*returned
}

// returned holds what the steps record about a move.
type returned struct {
	prize string
	what  draw.StepKind
	units int64
}

// stepRow holds the columns of a step that the audit reads.
type stepRow struct {
	n, award, seq       int64
	what, state, stands engine.Word
	ended, returned     sql.NullInt64
	at                  time.Time
}

func (s *stepRow) kind() draw.StepKind         { return draw.StepKind(s.what) }
func (s *stepRow) stateAfter() draw.AwardState { return draw.AwardState(s.state) }

// stepPages reads the steps of a pool in the order of their awards, and holds one page of
// them.
type stepPages struct {
	read func(page []stepRow, after, seq int64) ([]stepRow, error)
	page []stepRow
	next int
	// after and seq identify the last step of the page.
	after, seq int64
	ended      bool
}

// peek returns the next step, nil after the last.
func (p *stepPages) peek() (*stepRow, error) {
	if p.next == len(p.page) && !p.ended {
		var err error
		if p.page, err = p.read(p.page[:0], p.after, p.seq); err != nil {
			return nil, err
		}
		if p.next, p.ended = 0, len(p.page) < ledger.PageMax; len(p.page) > 0 {
			last := &p.page[len(p.page)-1]
			p.after, p.seq = last.award, last.seq
		}
	}
	if p.next == len(p.page) {
		return nil, nil
	}
	return &p.page[p.next], nil
}

// readPage reads the steps after a given one. An index of the database finds steps only
// by their award, so readPage skips earlier steps of the same award.
func (a *audit) readPage(ctx context.Context, page []stepRow, after, seq int64) ([]stepRow, error) {
	query := a.book.ledger.SelectFrom("steps", "n", "award", "seq", "what", "state", "stands", "ended", "returned", "at").
		Where(squirrel.Eq{"pool_id": a.PoolID}).Where(squirrel.GtOrEq{"award": after}).Where("NOT (award = ? AND seq <= ?)", after, seq).
		OrderBy("award", "seq").Limit(ledger.PageMax)
	text, args, err := query.ToSql()
	if err != nil {
		return nil, err
	}
	var row stepRow
	fields := []any{&row.n, &row.award, &row.seq, &row.what, &row.state, &row.stands, &row.ended, &row.returned, engine.ScanTime(&row.at)}
	err = engine.EachRow(ctx, a.Querier, text, args, fields, func() { page = engine.Appended(page, row) })
	return page, err
}

// take checks the steps of an award, and reports steps of versions before it.
func (a *audit) take(e draw.Entry) error {
	before := func(award int64) bool { return award < e.Version() }
	if err := a.skipWhile(before); err != nil || e.Award == nil {
		return err
	}
	own, err := a.stepsOf(e.Award.Version)
	if err != nil || len(own) == 0 {
		return err
	}
	l := &a.life
	*l = draw.Life{Award: *e.Award, State: draw.AwardWon}
	if p := a.prizes[l.Award.PrizeID]; p != nil {
		l.HasCode, l.Award.Blank = p.HasCodes, !p.IsWin()
	}
	if err := a.eras.of(l); err != nil {
		return err
	}
	a.award(l, own)
	return nil
}

// skipWhile reports the next steps as long as isSkipped is true: their versions are not
// awards.
func (a *audit) skipWhile(isSkipped func(award int64) bool) error {
	for {
		next, err := a.steps.peek()
		if err != nil || next == nil || !isSkipped(next.award) {
			return err
		}
		first := *next
		if _, err := a.stepsOf(first.award); err != nil {
			return err
		}
		a.found(ruleStepUnlawful, "step %d is of version %d, which does not exist as an award", first.n, first.award)
	}
}

// stepsOf returns the steps of a version, which must be the next ones. They are valid
// until the next call.
func (a *audit) stepsOf(version int64) ([]stepRow, error) {
	a.own = a.own[:0]
	for {
		next, err := a.steps.peek()
		if err != nil || next == nil || next.award != version {
			return a.own, err
		}
		if a.count++; a.count == 1 {
			a.first, a.last = next.n, next.n
		}
		a.first, a.last = min(a.first, next.n), max(a.last, next.n)
		a.own = append(a.own, *next)
		a.steps.next++
	}
}

// award checks the steps of one award in order.
func (a *audit) award(l *draw.Life, steps []stepRow) {
	l.WasShown = l.HasCode && !l.NeedsClaim
	last := int64(0) // the step that led to the current state
	for i := range steps {
		s := &steps[i]
		if s.seq != int64(i)+1 {
			a.found(ruleStepUnlawful, "step %d is step %d of the award of version %d, and should be its step %d", s.n, s.seq, s.award, i+1)
		}
		a.step(l, s)
		if advance(l, s.kind(), s.stateAfter()); !s.kind().IsOfCode() {
			last = s.n
		}
	}
	for i := range steps {
		s, stands := &steps[i], engine.Word("")
		if s.n == last {
			stands = s.state
		}
		if s.stands != stands || s.ended.Valid != s.stateAfter().HasEnded() || s.ended.Valid && s.ended.Int64 != s.award {
			a.found(ruleStepUnlawful, "the row of step %d does not say whether its state stands, or has ended its award", s.n)
		}
	}
	if l.State == draw.AwardClaimed {
		a.claimed++
	}
}

func (a *audit) step(l *draw.Life, s *stepRow) {
	f := draw.LifeFacts{
		IsBlank: l.Award.Blank, NeedsClaim: l.NeedsClaim, IsPast: s.kind() == draw.StepExpired, HasCode: l.HasCode, WasShown: l.WasShown,
		HasReserve: true, Returns: s.returned.Valid && s.kind() == draw.StepVoided,
	}
	switch next, refusal := draw.Next(l.State, s.kind(), f); {
	case s.kind() == draw.StepExpired && l.State != draw.AwardWon && !l.State.HasEnded():
		a.found(ruleExpiredClaimed, "step %d expires the award of version %d, which was %s", s.n, s.award, l.State)
	case refusal != "":
		a.found(ruleStepUnlawful, "step %d cannot follow: the award of version %d was %s, and is %s (%s)", s.n, s.award, l.State, s.kind(), refusal)
	case next != s.stateAfter():
		a.found(ruleStepUnlawful, "step %d says that the award of version %d is %s, and it is %s", s.n, s.award, s.stateAfter(), next)
	}
	if s.kind() == draw.StepExpired && l.NeedsClaim {
		if at := a.eras.earliest(&l.Award); at.IsZero() || s.at.Before(at) {
			a.found(ruleExpiredEarly, "step %d expires the award of version %d before its deadline", s.n, s.award)
		}
	}
	if !s.returned.Valid {
		return
	}
	a.Returned[l.Award.PrizeID] = append(a.Returned[l.Award.PrizeID], l.Award.Unit)
	r := a.returned[s.returned.Int64]
	switch {
	case s.kind() != draw.StepVoided && s.kind() != draw.StepExpired:
		a.found(ruleReturnUnlawful, "step %d is %s, and names a move", s.n, s.kind())
		return
	case r == nil:
		r = &returned{prize: l.Award.PrizeID, what: s.kind()}
		a.returned[s.returned.Int64] = r
	case r.prize != l.Award.PrizeID || r.what != s.kind():
		a.found(ruleReturnUnlawful, "step %d names the move of version %d, which is of other awards", s.n, s.returned.Int64)
		return
	}
	r.units++
}

// earliest returns the deadline with which an award was made. Later rules only extend it.
func (e *eras) earliest(award *draw.Award) (at time.Time) {
	r, err := e.at(award.Version)
	if claims := draw.ClaimsOf(r); err == nil && claims != nil {
		at = claims.Deadline(award, nil)
	}
	return at
}

// head checks that the steps are numbered without gaps.
func (a *audit) head(ctx context.Context) error {
	query := a.book.ledger.SelectFrom("step_heads", "n", "claimed", "settled").Where(squirrel.Eq{"pool_id": a.PoolID})
	heads, err := ledger.SelectAll(ctx, a, query, scanHead)
	if err != nil {
		return err
	}
	var h head
	if len(heads) > 0 {
		h = heads[0]
	}
	if a.count == 0 {
		a.first = 1
	}
	if a.count != h.n || a.last != h.n || a.first != 1 {
		a.found(ruleStepGap, "the last step is %d; there are %d, from %d to %d", h.n, a.count, a.first, a.last)
	}
	if a.claimed != h.claimed {
		a.found(ruleStepGap, "the pool says that %d awards are claimed, and %d are", h.claimed, a.claimed)
	}
	return nil
}

// returns compares the units that steps returned with the moves.
func (a *audit) returns(ctx context.Context) error {
	for part := range chunks(slices.Sorted(maps.Keys(a.returned))) {
		moves, err := ledger.SelectAll(ctx, a, a.book.ledger.SelectMoves(a.PoolID).Where(among("version", part)), a.book.ledger.ScanMove(a.PoolID))
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
				a.found(ruleReturnUnlawful, "%d units of prize %q are stated as returned by version %d, which is another entry", r.units, r.prize, version)
			}
		}
	}
	return nil
}
