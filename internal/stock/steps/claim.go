package steps

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/ledger"
)

// Claim claims the awards of a draw that need a claim, and returns the draw with the
// current states of its awards. If ordinal is not 0, it claims only that award. If the
// awards were claimed already, the claim is replayed. codesAway, if it is not nil, is the
// error for a draw that has codes. Errors: CodeDrawNotFound, also for another user's
// draw; CodeAwardNotFound for an ordinal beyond the draw; the refusal of the first award
// if none can be claimed; CodePoolNotFound; and those of the store.
func (b *Book) Claim(ctx context.Context, poolID, drawID, user string, ordinal int, actor string, codesAway error) (d draw.Draw, err error) {
	if err := cmp.Or(draw.CheckUser(user), draw.CheckActor(actor)); err != nil {
		return d, err
	}
	var w *writing
	err = b.ledger.Change(ctx, func(tx *sql.Tx) error {
		if err := b.checkSchema(); err != nil {
			return err
		}
		w = &writing{book: b, tx: tx, poolID: poolID, actor: actor, lives: map[int64]*draw.Life{}}
		d = draw.Draw{ID: drawID, PoolID: poolID, UserID: user}
		if d.Awards, err = w.readDraw(ctx, drawID); err != nil {
			return err
		}
		wanted, err := claimsOf(&d, ordinal)
		if err != nil {
			return err
		}
		if codesAway != nil && d.HasCodes() {
			return codesAway
		}
		if err := w.lock(ctx); err != nil {
			return err
		}
		if d.Replayed, err = w.claim(ctx, wanted); err != nil {
			return err
		}
		return w.end(ctx)
	})
	if err != nil {
		return draw.Draw{}, err
	}
	w.done()
	for i := range w.made {
		take(w.lives[w.made[i].Award], &w.made[i])
	}
	for _, l := range w.lives {
		err = cmp.Or(err, w.eras.showNow(l, w.at))
	}
	d.Lives = tell(w.lives, d.Awards)
	return d, err
}

// readDraw reads the awards of a draw in order, and the rules on claims that apply to
// them.
func (w *writing) readDraw(ctx context.Context, drawID string) (awards []draw.Award, err error) {
	l := w.book.ledger
	query, scan := l.SelectCodedAwards(w.poolID)
	if awards, err = ledger.SelectAll(ctx, w.tx, query.Where(squirrel.Eq{"a.draw_id": drawID}).OrderBy("a.ordinal"), scan); err != nil {
		return nil, err
	}
	if w.eras, err = w.book.readEras(ctx, w.tx, w.poolID); err != nil {
		return nil, err
	}
	if len(awards) > 1 { // a single row is found by its key in any case
		err = l.FindByKey(ctx, w.tx)
	}
	return awards, cmp.Or(err, w.eras.begin(w.lives, awards))
}

// claimsOf returns the steps that claim the awards of a draw.
func claimsOf(d *draw.Draw, ordinal int) (wanted []draw.WantedStep, err error) {
	if len(d.Awards) == 0 || slices.ContainsFunc(d.Awards, func(a draw.Award) bool { return a.UserID != d.UserID }) {
		return nil, draw.Errorf(draw.CodeDrawNotFound, "pool %q has no draw %q of this user", d.PoolID, d.ID)
	}
	for i := range d.Awards {
		if a := &d.Awards[i]; ordinal == 0 || ordinal == a.Ordinal {
			wanted = append(wanted, draw.WantedStep{Award: a.Version, What: draw.StepClaimed})
		}
	}
	if len(wanted) == 0 {
		return nil, draw.Errorf(draw.CodeAwardNotFound, "the draw %q has no award %d", d.ID, ordinal)
	}
	return wanted, nil
}

// claim decides the claims of a draw. isThere means that all awards are claimed already.
// Error: the refusal of the first award if none can be claimed.
func (w *writing) claim(ctx context.Context, wanted []draw.WantedStep) (isThere bool, err error) {
	needing := slices.DeleteFunc(slices.Clone(wanted), func(s draw.WantedStep) bool { return !w.lives[s.Award].NeedsClaim })
	if len(needing) == 0 {
		needing = wanted[:1]
	}
	var first error
	for i := range needing {
		_, was, err := w.step(ctx, &needing[i])
		if err != nil && !isRefusal(err) {
			return false, err
		}
		first, isThere = cmp.Or(first, err), isThere || was
	}
	if len(w.made) == 0 && !isThere {
		return false, first
	}
	return len(w.made) == 0, nil
}
