package steps

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// expireMax is the maximum number of awards that one transaction ends.
const expireMax = 500

// scanMax is the number of awards that one search for due awards reads.
const scanMax = 2000

// PoolsWithClaims returns the pools whose rules have, or had, claims. Errors: those of
// the store.
func (b *Book) PoolsWithClaims(ctx context.Context) (ids []string, err error) {
	if b.ledger.Engine.Lacks(engine.PartSteps) {
		return nil, nil
	}
	err = b.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		query := b.ledger.SelectFrom("pools", "id").Where(squirrel.Gt{"claims_from": 0}).OrderBy("id")
		ids, err = ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (id string, err error) { return id, row.Scan(&id) })
		return err
	})
	return ids, err
}

// restMax is the longest pause after a transaction of an expiry.
const restMax = 400 * time.Millisecond

// restAfter returns how long an expiry pauses after a transaction: four times as long as
// the transaction took. Draws of the pool wait for the same row, and nobody waits for an
// expiry.
func restAfter(took time.Duration) time.Duration { return min(4*took, restMax) }

// Expire ends the awards of a pool whose deadline has passed. It returns how many awards
// it ended, and how many units returned to stock. Errors: CodePoolNotFound,
// CodeRulesUnreadable, and those of the store.
func (b *Book) Expire(ctx context.Context, poolID string) (expired, returned int, err error) {
	s := sweep{after: -1}
	for isLast := false; !isLast; {
		var due []int64
		if due, isLast, err = b.findDue(ctx, poolID, &s); err != nil {
			return expired, returned, err
		}
		for part := range slices.Chunk(due, expireMax) {
			begun := time.Now()
			n, back, err := b.expirePart(ctx, poolID, part)
			expired, returned = expired+n, returned+back
			if err != nil {
				return expired, returned, err
			}
			if err := pause(ctx, restAfter(time.Since(begun))); err != nil {
				return expired, returned, err
			}
		}
	}
	return expired, returned, b.settle(ctx, poolID, &s)
}

// pause waits, until ctx ends at the latest.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// sweep is one search through the awards of a pool.
type sweep struct {
	// after is the last version that was searched. settled is the version up to which no
	// award can expire any more. isOpen means that an award after settled can still
	// expire.
	after, began, settled int64
	isOpen                bool
}

// findDue finds the next awards that are due.
func (b *Book) findDue(ctx context.Context, poolID string, s *sweep) (due []int64, isLast bool, err error) {
	err = b.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		due = nil
		if s.after < 0 {
			if err := b.beginSweep(ctx, tx, poolID, s); err != nil {
				return err
			}
		}
		e, err := b.readEras(ctx, tx, poolID)
		if err != nil {
			return err
		}
		now, err := b.ledger.DatabaseTime(ctx, tx)
		if err != nil {
			return err
		}
		within := e.within()
		if isLast = within == 0; isLast {
			return nil
		}
		old := b.ledger.SelectFrom("awards", "version").Where(squirrel.Eq{"pool_id": poolID}).Where(squirrel.Gt{"version": max(s.after, e.from)}).
			Where(squirrel.LtOrEq{"at": b.ledger.Engine.Time(now.Add(-within))}).OrderBy("version").Limit(scanMax)
		versions, err := ledger.SelectAll(ctx, tx, old, ledger.ScanInt)
		if isLast = len(versions) < scanMax; err != nil || len(versions) == 0 {
			return err
		}
		lives, err := b.ReadLives(ctx, tx, poolID, versions)
		if err != nil {
			return err
		}
		for _, version := range versions {
			due = s.see(lives[version], due, e)
		}
		s.after = versions[len(versions)-1]
		return nil
	})
	return due, isLast, err
}

// see reads the next award of a sweep, and adds it to due if it is due.
func (s *sweep) see(l *draw.Life, due []int64, e *eras) []int64 {
	written := draw.AwardWon
	if last := standing(l); last != nil {
		written = last.State
	}
	switch {
	case written != draw.AwardWon || !e.canExpire(l):
	case l.State == draw.AwardExpired:
		due = append(due, l.Award.Version)
	default:
		s.isOpen = true
	}
	if !s.isOpen {
		s.settled = l.Award.Version
	}
	return due
}

// canExpire reports whether an award may have a deadline, now or under later rules.
func (e *eras) canExpire(l *draw.Life) bool {
	if !l.NeedsClaim {
		return false
	}
	r, err := e.at(l.Award.Version)
	claims := draw.ClaimsOf(r)
	return err == nil && claims != nil && claims.Within > 0
}

// within returns the shortest time to claim in any rules of the pool, 0 for none.
func (e *eras) within() (least time.Duration) {
	for i := range e.all {
		if c := draw.ClaimsOf(e.all[i].Rules); c != nil && c.Within > 0 && (least == 0 || c.Within < least) {
			least = c.Within
		}
	}
	return least
}

func (b *Book) beginSweep(ctx context.Context, tx *sql.Tx, poolID string, s *sweep) error {
	found, err := ledger.SelectAll(ctx, tx, b.ledger.SelectFrom("step_heads", "settled").Where(squirrel.Eq{"pool_id": poolID}), ledger.ScanInt)
	*s = sweep{}
	if len(found) > 0 {
		*s = sweep{after: found[0], began: found[0], settled: found[0]}
	}
	return err
}

// expirePart ends awards that were found to be due. It returns their units to stock if
// the rules require that and the pool allows it.
func (b *Book) expirePart(ctx context.Context, poolID string, due []int64) (expired, returned int, err error) {
	var w *writing
	err = b.ledger.Change(ctx, func(tx *sql.Tx) error {
		e, err := b.readEras(ctx, tx, poolID)
		if err != nil {
			return err
		}
		returns := slices.ContainsFunc(due, func(version int64) bool { return e.returns(&draw.Award{Version: version}) })
		if w, err = b.begin(ctx, tx, poolID, draw.ClaimsJob, due, returns); err != nil {
			return err
		}
		//double:reads-before-lock !returns => false
		if !returns { // the pool is not locked, so rules with a longer time may have come into force meanwhile
			if err := w.readErasAgain(ctx); err != nil {
				return err
			}
		}
		for _, version := range due {
			s := draw.WantedStep{Award: version, What: draw.StepExpired}
			s.Return = returns && !w.closed && !w.guarded && e.returns(&draw.Award{Version: version})
			if _, _, err := w.step(ctx, &s); err != nil && !isRefusal(err) {
				return err // another run, a claim or an extension came first
			}
		}
		return w.end(ctx)
	})
	if err != nil {
		return 0, 0, err
	}
	w.done()
	return len(w.made), len(w.returning), nil
}

// readErasAgain reads the rules on claims a second time, after the head was locked.
func (w *writing) readErasAgain(ctx context.Context) (err error) {
	if w.eras, err = w.book.readEras(ctx, w.tx, w.poolID); err != nil {
		return err
	}
	for _, l := range w.lives {
		if err := w.eras.of(l); err != nil {
			return err
		}
	}
	return nil
}

// settle stores the version up to which no award of a pool can expire any more.
func (b *Book) settle(ctx context.Context, poolID string, s *sweep) error {
	if s.settled <= s.began {
		return nil
	}
	return b.ledger.Change(ctx, func(tx *sql.Tx) error {
		h, err := b.lockHead(ctx, tx, poolID)
		if err != nil || h.settled >= s.settled {
			return err
		}
		update := b.ledger.Builder().Update("step_heads").Set("settled", s.settled).Where(squirrel.Eq{"pool_id": poolID})
		return ledger.ExecOne(ctx, tx, update)
	})
}
