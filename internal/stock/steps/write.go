package steps

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// writing is a transaction that writes steps of one pool.
type writing struct {
	book          *Book
	tx            *sql.Tx
	poolID, actor string
	// of is the pool whose row is locked, nil if the steps do not need that lock.
	of *ledger.LockedPool
	// closed and guarded are reasons why the pool's stock cannot be moved.
	closed, guarded bool
	lives           map[int64]*draw.Life
	eras            *eras
	head            head
	at              time.Time
	reserves        map[string]int64
	made            []draw.Step
	// claimed is the difference that the steps make to the number of claimed awards.
	// replaced and returning are the indexes, in made, of the steps that move codes or
	// stock.
	claimed             int64
	replaced, returning []int
}

// begin takes the locks that the steps of awards need, and reads the awards' lives. If
// isWhole is set, it also locks the pool, for steps that return units or replace codes.
func (b *Book) begin(ctx context.Context, tx *sql.Tx, poolID, actor string, versions []int64, isWhole bool) (*writing, error) {
	w := &writing{book: b, tx: tx, poolID: poolID, actor: actor, reserves: map[string]int64{}}
	if err := b.checkSchema(); err != nil {
		return nil, err
	}
	var err error
	if isWhole {
		if w.of, err = b.ledger.LockPool(ctx, tx, poolID, actor); err != nil {
			return nil, err
		}
		w.closed = w.of.Pool.State == draw.StateClosed
		if w.guarded, err = b.isGuarded(ctx, tx, w.of); err != nil {
			return nil, err
		}
	}
	if w.lives, w.eras, err = b.readAwards(ctx, tx, poolID, versions); err != nil {
		return nil, err
	}
	return w, w.lock(ctx)
}

// lock locks the head, and reads the earlier steps of the awards.
func (w *writing) lock(ctx context.Context) (err error) {
	if w.head, err = w.book.lockHead(ctx, w.tx, w.poolID); err != nil {
		return err
	}
	if w.at, err = w.book.ledger.LockedTime(ctx, w.tx); err != nil {
		return err
	}
	if w.at.Before(w.head.last) {
		w.at = w.head.last
	}
	return w.book.addSteps(ctx, w.tx, w.poolID, w.lives)
}

// needsPool reports whether the pool's row must be locked for a step.
func needsPool(s *draw.WantedStep) bool { return s.Return || s.What == draw.StepReplaced }

// facts returns the facts that decide whether a step of an award is allowed.
func (w *writing) facts(ctx context.Context, l *draw.Life, s *draw.WantedStep) (draw.LifeFacts, error) {
	f := draw.LifeFacts{
		IsBlank: l.Award.Blank, NeedsClaim: l.NeedsClaim, IsPast: isPast(l, w.at), HasCode: l.HasCode, WasShown: l.WasShown,
		Returns: s.Return, IsClosed: w.closed, IsGuarded: w.guarded,
	}
	if last := standing(l); last != nil {
		f.IsSame = last.What == draw.StepFulfilled && last.Reference == s.Reference
		f.IsReopened = last.What == draw.StepReopened
	}
	if s.What == draw.StepReplaced && l.HasCode {
		id := l.Award.PrizeID
		if _, isRead := w.reserves[id]; !isRead {
			prize, err := w.book.ledger.Prize(ctx, w.tx, w.poolID, id)
			if err != nil {
				return f, err
			}
			w.reserves[id] = prize.Reserve()
		}
		f.HasReserve = w.reserves[id] > 0
	}
	return f, nil
}

// step decides a step, and plans it if it is allowed. isThere means that the award is
// already in the state to which the step leads. Errors: CodeAwardNotFound, and the
// refusals of [draw.Next].
func (w *writing) step(ctx context.Context, s *draw.WantedStep) (made draw.Step, isThere bool, err error) {
	l := w.lives[s.Award]
	if l == nil {
		return made, false, errNoAward(w.poolID, s.Award)
	}
	f, err := w.facts(ctx, l, s)
	if err != nil {
		return made, false, err
	}
	if draw.IsThere(l.State, s.What, f) {
		return *standing(l), true, nil
	}
	now := draw.StateNow(l.State, f)
	if s.From != "" && s.From != now && !f.IsBlank {
		return made, false, draw.Errorf(draw.CodeChangedMeanwhile, "the award of version %d is %s, and not %s", s.Award, now, s.From)
	}
	next, refusal := draw.Next(l.State, s.What, f)
	if refusal != "" {
		return made, false, refused(refusal, s, l, now)
	}
	return w.plan(l, s, next), false, nil
}

// plan adds an allowed step.
func (w *writing) plan(l *draw.Life, s *draw.WantedStep, next draw.AwardState) draw.Step {
	made := draw.Step{
		N: w.head.n + int64(len(w.made)) + 1, Award: s.Award, Seq: int64(len(l.Steps)) + 1, PoolID: w.poolID, What: s.What, State: next, Since: w.at,
		DrawID: l.Award.DrawID, Ordinal: l.Award.Ordinal, PrizeID: l.Award.PrizeID, Reference: s.Reference, Reason: s.Reason, Actor: w.actor, At: w.at,
	}
	switch {
	case next == l.State:
		made.Since = l.Since
	case s.What == draw.StepExpired: // the state that callers saw before the step
		made.Since = l.Until
	}
	switch {
	case next == draw.AwardClaimed && l.State != draw.AwardClaimed:
		w.claimed++
	case next != draw.AwardClaimed && l.State == draw.AwardClaimed:
		w.claimed--
	}
	if s.What == draw.StepReplaced {
		w.replaced = append(w.replaced, len(w.made))
		w.reserves[l.Award.PrizeID]--
	}
	if s.Return {
		w.returning = append(w.returning, len(w.made))
	}
	w.made = append(w.made, made)
	return made
}

// refused returns the error of a step that the state of its award forbids.
func refused(code draw.Code, s *draw.WantedStep, l *draw.Life, now draw.AwardState) error {
	sentence := map[draw.Code]string{
		draw.CodeNothingToClaim:    "the award of version %d is nothing to claim",
		draw.CodeClaimExpired:      "the time to claim the award of version %d has passed",
		draw.CodeAwardEnded:        "the award of version %d has ended",
		draw.CodeAwardNotFulfilled: "the award of version %d is not fulfilled",
		draw.CodeCodeShown:         "the code of the award of version %d was shown, so that its unit cannot return",
		draw.CodeCodeNotOpen:       "the award of version %d is not claimed yet, so that its code is not shown",
		draw.CodeCodesMissing:      "the reserve has no code for the award of version %d",
		draw.CodePrizeHasNoCodes:   "the prize of the award of version %d was made without codes",
		draw.CodePoolClosed:        "the pool is closed, so that the unit of the award of version %d cannot return",
		draw.CodePoolOpen:          "the pool is open with a beacon, so that the unit of the award of version %d cannot return",
	}[code]
	err := draw.Errorf(code, cmp.Or(sentence, "the award of version %d does not take the step"), s.Award)
	if code == draw.CodeAwardEnded || code == draw.CodeClaimExpired {
		since := l.Since
		if now != l.State {
			since = l.Until
		}
		err.Ended = &draw.Ended{State: now, Since: since}
	}
	return err
}

// end writes the planned steps.
func (w *writing) end(ctx context.Context) error {
	if len(w.made) == 0 {
		return nil
	}
	if err := w.returnUnits(ctx); err != nil {
		return err
	}
	for _, i := range w.replaced {
		s := &w.made[i]
		if err := w.book.codes.ReplaceCode(ctx, w.tx, w.poolID, s.PrizeID, w.lives[s.Award].Award.Unit, -s.N); err != nil {
			return err
		}
	}
	if err := w.unstand(ctx); err != nil {
		return err
	}
	for part := range slices.Chunk(w.made, ledger.RowsMax) {
		if err := w.insert(ctx, part); err != nil {
			return err
		}
	}
	update := w.book.ledger.Builder().Update("step_heads").Set("n", w.head.n+int64(len(w.made))).Set("claimed", w.head.claimed+w.claimed).
		Where(squirrel.Eq{"pool_id": w.poolID})
	if err := ledger.ExecOne(ctx, w.tx, update); err != nil {
		return err
	}
	fault.At(fault.StepsBeforeCommit)
	return nil
}

// unstand unmarks the steps that led to the former states, because later steps have led
// to new ones.
func (w *writing) unstand(ctx context.Context) error {
	var before []int64
	for i := range w.made {
		if last := standing(w.lives[w.made[i].Award]); last != nil && !w.made[i].What.IsOfCode() {
			before = append(before, last.N)
		}
	}
	slices.Sort(before)
	for part := range chunks(before) {
		update := w.book.ledger.Builder().Update("steps").Set("stands", nil).Where(squirrel.Eq{"pool_id": w.poolID, "n": part}).Where(among("n", part))
		if _, err := update.RunWith(w.tx).ExecContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *writing) insert(ctx context.Context, part []draw.Step) error {
	l := w.book.ledger
	insert := l.InsertInto("steps").Columns("pool_id", "n", "award", "seq", "what", "state", "stands", "ended", "reference", "reason", "returned", "actor", "since", "at")
	for i := range part {
		s := &part[i]
		var stands, ended, returned any
		if !s.What.IsOfCode() {
			stands = string(s.State)
		}
		if s.State.HasEnded() {
			ended = s.Award
		}
		if s.Returned != 0 {
			returned = s.Returned
		}
		insert = insert.Values(w.poolID, s.N, s.Award, s.Seq, string(s.What), string(s.State), stands, ended, s.Reference, s.Reason, returned, s.Actor,
			l.Engine.Time(s.Since), l.Engine.Time(s.At))
	}
	_, err := insert.RunWith(w.tx).ExecContext(ctx)
	if l.IsDuplicate(err) {
		return engine.ErrConflict // another transaction wrote a step, or ended the award
	}
	return err
}

// returnUnits makes one move for each prize whose units return, and moves the codes of
// these units after the last place.
func (w *writing) returnUnits(ctx context.Context) error {
	if len(w.returning) == 0 {
		return nil
	}
	byPrize, order := map[string][]int{}, []string{}
	for _, i := range w.returning {
		id := w.made[i].PrizeID
		if byPrize[id] == nil {
			order = append(order, id)
		}
		byPrize[id] = append(byPrize[id], i)
	}
	var moves []ledger.Stocking
	for _, id := range order {
		if err := w.returnCodes(ctx, id, byPrize[id]); err != nil {
			return err
		}
		prize, err := w.book.ledger.Prize(ctx, w.tx, w.poolID, id)
		if err != nil {
			return err
		}
		delta := int64(len(byPrize[id]))
		if err := ledger.CheckDelta(prize, delta); err != nil {
			return err
		}
		moves = append(moves, ledger.Stocking{Prize: prize, Delta: delta, Reason: string(w.made[byPrize[id][0]].What)})
		for _, i := range byPrize[id] {
			w.made[i].Returned = w.of.Head.Version + int64(len(moves))
		}
	}
	return w.book.ledger.StockAll(ctx, w.tx, w.of, moves)
}

// returnCodes moves the codes of units that return.
func (w *writing) returnCodes(ctx context.Context, prizeID string, made []int) error {
	var places []int64
	for _, i := range made {
		if l := w.lives[w.made[i].Award]; l.HasCode {
			places = append(places, l.Award.Unit)
		}
	}
	//double:keeps-codes len(places) == 0 => len(places) >= 0
	if len(places) == 0 {
		return nil
	}
	return w.book.codes.MoveCodesToEnd(ctx, w.tx, w.poolID, prizeID, places)
}

// done counts the steps after they are committed.
func (w *writing) done() {
	fault.At(fault.StepsAfterCommit)
	counts := map[draw.StepKind]int{}
	for i := range w.made {
		counts[w.made[i].What]++
	}
	for what, n := range counts {
		w.book.stepped(what, n)
	}
	if len(w.returning) > 0 {
		w.book.ledger.Changed(w.poolID)
	}
}

// Step writes a step of an award and returns it. isThere means that the award was already
// in the state to which the step leads. Then Step returns the earlier step that led
// there. Errors: CodeInvalidRequest, CodePoolNotFound, CodeAwardNotFound,
// CodeChangedMeanwhile, those of [draw.Next], and those of the store.
func (b *Book) Step(ctx context.Context, poolID string, wanted draw.WantedStep, actor string) (made draw.Step, isThere bool, err error) {
	if err := cmp.Or(wanted.Check(), draw.CheckActor(actor)); err != nil {
		return made, false, err
	}
	var w *writing
	err = b.ledger.Change(ctx, func(tx *sql.Tx) error {
		if w, err = b.begin(ctx, tx, poolID, actor, []int64{wanted.Award}, needsPool(&wanted)); err != nil {
			return err
		}
		if made, isThere, err = w.step(ctx, &wanted); err != nil || isThere {
			return err
		}
		err = w.end(ctx)
		made = w.made[0]
		return err
	})
	if err != nil {
		return draw.Step{}, false, err
	}
	w.done()
	return made, isThere, nil
}
