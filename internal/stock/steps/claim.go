package steps

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/ledger"
)

// Claim claims the awards of a draw that need a claim, or only the award with the given
// ordinal (0 means all), and returns the draw with the current states of its awards. The
// draw is marked as replayed if they were claimed already. Claims of one pool that arrive
// while a transaction is written share the next one. Errors: CodeDrawNotFound, also for
// another user's draw; CodeAwardNotFound for an ordinal beyond the draw; the refusal of
// the first award if none can be claimed; CodePoolNotFound; and those of the store.
// codesAway, if it is not nil, is the error for a draw that has codes.
func (b *Book) Claim(ctx context.Context, poolID, drawID, user string, ordinal int, actor string, codesAway error) (draw.Draw, error) {
	if err := cmp.Or(draw.CheckUser(user), draw.CheckActor(actor)); err != nil {
		return draw.Draw{}, err
	}
	c := &claim{ctx: ctx, ordinal: ordinal, actor: actor, codesAway: codesAway, done: make(chan struct{})}
	c.d = draw.Draw{ID: drawID, PoolID: poolID, UserID: user}
	return b.queue.wait(c, b.claimAll)
}

// claimAll writes claims of one pool in a transaction, and sets the answer of each.
func (b *Book) claimAll(poolID string, all []*claim) {
	ctx, cancel := latest(all)
	defer cancel()
	var w *writing
	err := b.ledger.Change(ctx, func(tx *sql.Tx) error {
		if err := b.checkSchema(); err != nil {
			return err
		}
		w = &writing{book: b, tx: tx, poolID: poolID, lives: map[int64]*draw.Life{}}
		if err := w.readDraws(ctx, all); err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(c *claim) bool { return c.err == nil }) {
			return nil
		}
		if err := w.lock(ctx); err != nil {
			return err
		}
		for _, c := range all {
			if c.err != nil {
				continue
			}
			if c.d.Replayed, c.err = w.claim(ctx, c); c.err != nil && !isRefusal(c.err) {
				return c.err
			}
		}
		return w.end(ctx)
	})
	if err != nil {
		for _, c := range all {
			c.err = err
		}
		return
	}
	w.done()
	for i := range w.made {
		take(w.lives[w.made[i].Award], &w.made[i])
	}
	for _, l := range w.lives {
		_ = w.eras.showNow(l, w.at) // readDraws has read the same rules
	}
	for _, c := range all {
		c.d.Lives = tell(w.lives, c.d.Awards)
	}
}

// readDraws reads the awards of the claimed draws, and their rules on claims. It sets the
// error of a claim that can be refused without reading the steps of its awards.
func (w *writing) readDraws(ctx context.Context, all []*claim) (err error) {
	l := w.book.ledger
	byDraw := make(map[string]*claim, len(all))
	ids := make([]string, len(all))
	for i, c := range all {
		c.d.Awards, c.err = nil, nil // a transaction can be repeated
		byDraw[c.d.ID], ids[i] = c, c.d.ID
	}
	query, scan := l.SelectCodedAwardsOf(w.poolID, ids)
	awards, err := ledger.SelectAll(ctx, w.tx, query, scan)
	if err != nil {
		return err
	}
	slices.SortFunc(awards, func(a, b draw.Award) int { return cmp.Compare(a.Ordinal, b.Ordinal) })
	if w.eras, err = w.book.readEras(ctx, w.tx, w.poolID); err != nil {
		return err
	}
	for _, a := range awards {
		if c := byDraw[a.DrawID]; c != nil {
			c.d.Awards = append(c.d.Awards, a)
		}
	}
	for _, c := range all {
		if c.wanted, c.err = claimsOf(&c.d, c.ordinal); c.err == nil && c.d.HasCodes() {
			c.err = c.codesAway
		}
		if c.err == nil {
			c.err = w.eras.begin(w.lives, c.d.Awards)
		}
	}
	return nil
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

// claim decides the claims of a draw. isThere reports that nothing is left to claim. Error:
// the refusal of the first award if none can be claimed.
func (w *writing) claim(ctx context.Context, c *claim) (isThere bool, err error) {
	needing := slices.DeleteFunc(slices.Clone(c.wanted), func(s draw.WantedStep) bool { return !w.lives[s.Award].NeedsClaim })
	if len(needing) == 0 {
		needing = c.wanted[:1]
	}
	w.actor = c.actor
	var first error
	before := len(w.made)
	for i := range needing {
		_, was, err := w.step(ctx, &needing[i])
		if err != nil && !isRefusal(err) {
			return false, err
		}
		first, isThere = cmp.Or(first, err), isThere || was
	}
	isMade := len(w.made) > before
	if !isMade && !isThere {
		return false, first
	}
	return !isMade, nil
}
