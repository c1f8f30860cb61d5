package agenda

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

const (
	// duePoolsMax is the maximum number of pools that one search of all agendas returns.
	duePoolsMax = 1000
)

// RunDue carries out the items of a pool's agenda that are due by the database's clock,
// at most 1,000, in order of time and number. Each item becomes the change or the move
// that it plans, or else a change that records why that was impossible. The lock of the
// pool's row and the mark of done items ensure that each item is carried out once.
// Errors: CodePoolNotFound, CodeRulesUnreadable for an item that is left to instances
// which can read it, or an *Error with its class.
func (p *Planner) RunDue(ctx context.Context, poolID string) error {
	_, err := p.runDue(ctx, poolID, all)
	return err
}

// which selects some of the due items.
type which bool

const (
	// all selects the items that must be carried out before a draw or a change.
	all which = false
	// noLastMoments leaves out moments that no other item follows. Without a draw,
	// nothing requires them to be done, and an item that is done is no longer hidden.
	noLastMoments which = true
)

// runDue is RunDue, and also returns how many items it carried out, even together with
// CodeRulesUnreadable.
func (p *Planner) runDue(ctx context.Context, poolID string, which which) (int, error) {
	ran, left, err := p.runSome(ctx, poolID, which, ledger.ItemsPerRun, false)
	if isDefect(err) { // the error concerns one item, which must not block the others
		ran, left, err = p.runSome(ctx, poolID, which, 1, false)
	}
	if isDefect(err) {
		ran, left, err = p.runSome(ctx, poolID, which, 1, true)
	}
	p.ledger.Observe(err) // after the connection was returned
	switch {
	case engine.ClassOf(err) == engine.ClassUnknown: // the next read shows whether it was committed
		p.ledger.Changed(poolID)
		return 0, engine.Conflict("commit", err)
	case err != nil:
		return 0, err
	case len(ran) == 0 && left != nil:
		return 0, left
	case len(ran) == 0:
		_ = p.ledger.ReadClock(ctx) // the caller may have found the due item by an estimate
		return 0, p.ledger.ClockLeapt()
	}
	p.ledger.Changed(poolID)
	p.report(poolID, ran)
	return len(ran), left
}

// whyLeft returns the reason why this instance leaves an item to others: it cannot read
// data that the item needs. It returns nil for an item that is to be carried out now. The
// pool's row is locked. In a committed pool, every item except a pause or a close also
// needs the commitment.
func (p *Planner) whyLeft(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, item *draw.Item) (why, err error) {
	if !of.At.Before(item.At.Add(draw.ItemLeftMax)) {
		return nil, nil
	}
	if why := item.Unreadable(); why != nil {
		return why, nil
	}
	if item.Kind == draw.ItemState && item.State != draw.StateOpen {
		return nil, nil
	}
	err = p.ledger.Guard.CanRead(ctx, tx, of)
	if ledger.IsUnreadable(err) {
		return err, nil
	}
	return nil, err
}

// isDefect reports whether an error would occur again. A known key means that the item
// has already made its move.
func isDefect(err error) bool {
	class := engine.ClassOf(err)
	return err != nil && (class == engine.ClassOther || class == engine.ClassKnownKey) && draw.CodeOf(err) == draw.CodeInternal
}

// report counts the items that were carried out, and logs those that failed.
func (p *Planner) report(poolID string, ran []ranItem) {
	counts := map[draw.ItemKind]int{}
	for _, r := range ran {
		counts[r.kind]++
		if r.failed != nil {
			p.ledger.Log.Warn("an item of the agenda could not be done", "pool", poolID, "item", r.number, "version", r.version, "error", r.failed)
		}
	}
	for kind, n := range counts {
		p.due(kind, n)
	}
}

// runSome carries out at most limit items in one transaction. If failsAll is set, it
// records all of them as failed without trying them. left is the reason why it has left
// an item to other instances and stopped there.
func (p *Planner) runSome(ctx context.Context, poolID string, which which, limit int, failsAll bool) (ran []ranItem, left, err error) {
	err = p.ledger.Once(ctx, func(tx *sql.Tx) error {
		ran, left = nil, nil
		of, err := p.ledger.LockRow(ctx, tx, poolID, "")
		if err != nil || !of.IsDue() {
			return err
		}
		items, err := p.dueItems(ctx, tx, poolID, of.At, which, limit)
		if err != nil {
			return err
		}
		r := &agendaRun{planner: p, tx: tx, of: of, failsAll: failsAll}
		for i := range items {
			if left, err = p.whyLeft(ctx, tx, of, &items[i]); left != nil {
				break // later items wait too, to keep the order
			}
			if err == nil {
				err = r.do(ctx, &items[i])
			}
			if err != nil {
				return err
			}
		}
		if err := r.end(ctx); err != nil {
			return err
		}
		ran = r.ran
		err = p.renewDue(ctx, tx, poolID)
		fault.At(fault.DueBeforeCommit)
		return err
	})
	if len(ran) > 0 && err == nil {
		fault.At(fault.DueAfterCommit)
	}
	return ran, left, err
}

// dueItems reads the first open items that are due at a time, in order. The transaction is
// that of a change, which finds rows by key.
func (p *Planner) dueItems(ctx context.Context, tx *sql.Tx, poolID string, now time.Time, which which, limit int) (found []draw.Item, err error) {
	columns := strings.Join(itemColumns(), ", ")
	for _, kind := range kinds() { // the key orders the items of each kind
		query := p.openItems(columns, poolID, kind).Where(squirrel.LtOrEq{"at": p.ledger.Engine.Time(now)}).
			OrderBy("at", "item").Limit(uint64(limit)) //nolint:gosec // a constant
		items, err := ledger.SelectAll(ctx, tx, query, scanItem)
		if err != nil {
			return nil, err
		}
		found = append(found, items...)
	}
	slices.SortFunc(found, byTime)
	//double:ticker-does-moments which == noLastMoments && => false &&
	for n := len(found); which == noLastMoments && n > 0 && found[n-1].Kind == draw.ItemMoment; n = len(found) {
		found = found[:n-1]
	}
	return found[:min(len(found), limit)], nil
}

// RunAllDue carries out the due items of all agendas, even if nobody draws from the pool.
// It skips moments unless another due item follows them. It returns the first error, but
// continues after it.
func (p *Planner) RunAllDue(ctx context.Context) error {
	pools, err := p.duePools(ctx)
	for _, poolID := range pools {
		for n := ledger.ItemsPerRun; n > 0 && ctx.Err() == nil; {
			var failed error
			if n, failed = p.runDue(ctx, poolID, noLastMoments); failed != nil {
				n = 0
				if draw.CodeOf(failed) != draw.CodePoolNotFound && !ledger.IsUnreadable(failed) && engine.ClassOf(failed) != engine.ClassConflict { // otherwise another instance carries the item out
					err = cmp.Or(err, failed)
				}
			}
		}
	}
	return err
}

// notMoment is the condition that selects items other than moments.
const notMoment = `what <> 'moment'`

// duePools returns pools with a due item that is not a moment.
func (p *Planner) duePools(ctx context.Context) (pools []string, err error) {
	if err := cmp.Or(p.ledger.Engine.Refusal(), p.ledger.Admits()); err != nil {
		return nil, err
	}
	//double:ticker-does-moments .Where(notMoment) =>
	query := p.ledger.SelectFrom("agenda", "pool_id").Where(squirrel.Eq{"done": 0}).Where(notMoment)
	if p.ledger.Engine.Clock != "" {
		query = query.Where("at <= " + p.ledger.Engine.Clock)
	} else {
		query = query.Where(squirrel.LtOrEq{"at": p.ledger.Engine.Time(p.ledger.Now())})
	}
	query = query.GroupBy("pool_id").Limit(duePoolsMax)
	err = p.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		pools, err = ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (id string, err error) {
			err = row.Scan(&id)
			return id, err
		})
		return err
	})
	return pools, err
}

// beforeChange makes the planner a ledger.Agenda.
type beforeChange struct{ planner *Planner }

// IsLeft implements ledger.Agenda.
func (b beforeChange) IsLeft(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool) (bool, error) {
	first, err := b.planner.dueItems(ctx, tx, of.Pool.ID, of.At, all, 1)
	if err != nil || len(first) == 0 {
		return false, err
	}
	why, err := b.planner.whyLeft(ctx, tx, of, &first[0])
	return why != nil, err
}

// HasOpenMoments implements ledger.Agenda.
func (b beforeChange) HasOpenMoments(ctx context.Context, tx *sql.Tx, poolID string) (bool, error) {
	return b.planner.hasOpenMoments(ctx, tx, poolID)
}

// Run implements ledger.Agenda.
func (b beforeChange) Run(ctx context.Context, poolID string) error {
	if _, err := b.planner.runDue(ctx, poolID, all); err != nil && !ledger.IsUnreadable(err) {
		return err
	}
	return nil
}
