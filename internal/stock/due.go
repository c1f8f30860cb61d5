package stock

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
	"drawsvc/internal/stock/engine"
)

const (
	// dueMax is how many items one transaction does.
	dueMax = 1000
	// duePoolsMax is how many pools one search of all agendas finds.
	duePoolsMax = 1000
	// leftMax is how long after its time an item that needs what this instance cannot
	// read is left to one that can. Then it is done as failed, so that it blocks nobody
	// for ever.
	leftMax = time.Minute
	// duesMax bounds how often a change meets items that come before it.
	duesMax = 1 + draw.OpenItemsMax/dueMax
)

// ItemFailed is what Options.Due is called with for items that cannot be done.
const ItemFailed draw.ItemKind = "failed"

// poolDue says that the agenda of a pool comes before a change of it.
type poolDue struct{ poolID string }

// Error implements error.
func (e *poolDue) Error() string { return "an item of the agenda is due" }

// Unwrap gives the error its class.
func (e *poolDue) Unwrap() error { return engine.ErrDue }

// RunDue does the items of a pool's agenda that are due by the database's
// clock, in order of their time and number, at most 1,000. Each becomes the
// change or the move that it plans, and where that cannot be, a change that
// says why. The lock of the pool's row and the mark done make it once. Errors:
// CodePoolNotFound, CodeRulesUnreadable for an item that is left to instances which
// can read it, or an *Error with its class.
func (s *Store) RunDue(ctx context.Context, poolID string) error {
	_, err := s.runDue(ctx, poolID)
	return err
}

// runDue is RunDue. It returns how many items it did, also with CodeRulesUnreadable.
func (s *Store) runDue(ctx context.Context, poolID string) (int, error) {
	ran, left, err := s.runSome(ctx, poolID, dueMax, false)
	if isDefect(err) { // of one item, which must block nobody
		ran, left, err = s.runSome(ctx, poolID, 1, false)
	}
	if isDefect(err) {
		ran, left, err = s.runSome(ctx, poolID, 1, true)
	}
	s.observe(err) // now that the connection is given back
	switch {
	case ClassOf(err) == ClassUnknown: // the next one sees what became of it
		s.options.Changed(poolID)
		return 0, engine.Conflict("commit", err)
	case err != nil:
		return 0, err
	case len(ran) == 0 && left != nil:
		return 0, left
	case len(ran) == 0:
		_ = s.readClock(ctx) // whoever saw something due may go by an estimate
		return 0, s.ClockLeapt()
	}
	s.options.Changed(poolID)
	s.report(poolID, ran)
	return len(ran), left
}

// whyLeft returns why an item of a pool whose row is locked is left to instances that
// can read what it needs, nil for an item that is done now. Of a committed pool that is
// the commitment too, but to pause and to close.
func (s *Store) whyLeft(ctx context.Context, tx *sql.Tx, of *lockedPool, item *draw.Item) (why, err error) {
	if !of.at.Before(item.At.Add(leftMax)) {
		return nil, nil
	}
	if why := item.Unreadable(); why != nil {
		return why, nil
	}
	if item.Kind == draw.ItemState && item.State != draw.StateOpen {
		return nil, nil
	}
	_, err = s.promised(ctx, tx, of)
	if isUnreadable(err) {
		return err, nil
	}
	return nil, err
}

func isUnreadable(err error) bool { return draw.CodeOf(err) == draw.CodeRulesUnreadable }

// isDefect says that an error is none of those that come and go. A key that is
// known is that of an item which has made its move already.
func isDefect(err error) bool {
	class := ClassOf(err)
	return err != nil && (class == ClassOther || class == ClassKnownKey) && draw.CodeOf(err) == draw.CodeInternal
}

// report counts items that were done, and logs those that could not be.
func (s *Store) report(poolID string, ran []ranItem) {
	counts := map[draw.ItemKind]int{}
	for _, r := range ran {
		counts[r.kind]++
		if r.failed != nil {
			s.options.Log.Warn("an item of the agenda could not be done", "pool", poolID, "item", r.number, "version", r.version, "error", r.failed)
		}
	}
	for kind, n := range counts {
		s.options.Due(kind, n)
	}
}

// ranItem is an item that was done by the entry of a version.
type ranItem struct {
	number, version int64
	kind            draw.ItemKind
	failed          error
}

// runSome does at most limit items in one transaction. With give, it does not
// even try. left is why it has stopped before an item that is left to others.
func (s *Store) runSome(ctx context.Context, poolID string, limit int, give bool) (ran []ranItem, left, err error) {
	err = s.once(ctx, func(tx *sql.Tx) error {
		ran, left = nil, nil
		of, err := s.lockRow(ctx, tx, poolID, "")
		if err != nil || !of.isDue() {
			return err
		}
		items, err := s.dueItems(ctx, tx, poolID, of.at, limit)
		if err != nil {
			return err
		}
		r := &agendaRun{store: s, tx: tx, of: of, give: give}
		for i := range items {
			if left, err = s.whyLeft(ctx, tx, of, &items[i]); left != nil {
				break // those after it wait, so that the order holds
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
		err = s.renewDue(ctx, tx, poolID)
		fault.At(fault.DueBeforeCommit)
		return err
	})
	if len(ran) > 0 && err == nil {
		fault.At(fault.DueAfterCommit)
	}
	return ran, left, err
}

// isDue says that an item of the pool's agenda has come.
func (of *lockedPool) isDue() bool { return !of.dueAt.IsZero() && !of.dueAt.After(of.at) }

// dueItems reads the first open items up to a time, in order.
func (s *Store) dueItems(ctx context.Context, tx *sql.Tx, poolID string, now time.Time, limit int) (all []draw.Item, err error) {
	if s.engine.ByKey != "" {
		if _, err := tx.ExecContext(ctx, s.engine.ByKey); err != nil {
			return nil, err
		}
	}
	columns := strings.Join(itemColumns(), ", ")
	for _, kind := range []draw.ItemKind{draw.ItemState, draw.ItemRules, draw.ItemStock} { // each in the order of the key
		query := s.openItems(columns, poolID, kind).Where(squirrel.LtOrEq{"at": s.engine.Time(now)}).
			OrderBy("at", "item").Limit(uint64(limit)) //nolint:gosec // a constant
		found, err := selectAll(ctx, tx, query, scanItem)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b draw.Item) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Number, b.Number)) })
	return all[:min(len(all), limit)], nil
}

// markDone notes which entries the items became.
func (s *Store) markDone(ctx context.Context, tx *sql.Tx, poolID string, ran []ranItem) error {
	for part := range slices.Chunk(ran, stockRowsMax) {
		var cases strings.Builder
		numbers := make([]int64, len(part))
		for i, r := range part { // numbers of ours: PostgreSQL takes a parameter there for a text
			numbers[i] = r.number
			cases.WriteString(" WHEN " + strconv.FormatInt(r.number, 10) + " THEN " + strconv.FormatInt(r.version, 10))
		}
		update := s.builder().Update("agenda").Set("done", squirrel.Expr("CASE item"+cases.String()+" END")).
			Where(squirrel.Eq{"pool_id": poolID, "item": numbers, "done": 0})
		result, err := update.RunWith(tx).ExecContext(ctx)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n != int64(len(part)) {
			return errors.Join(ErrConflict, err)
		}
	}
	return nil
}

// RunAllDue does what is due of all agendas, so that pools which nobody draws
// from follow theirs too. It returns the first error, and goes on behind it.
func (s *Store) RunAllDue(ctx context.Context) error {
	pools, err := s.duePools(ctx)
	for _, poolID := range pools {
		for n := dueMax; n > 0 && ctx.Err() == nil; {
			var failed error
			if n, failed = s.runDue(ctx, poolID); failed != nil {
				n = 0
				if draw.CodeOf(failed) != draw.CodePoolNotFound && !isUnreadable(failed) && ClassOf(failed) != ClassConflict { // else somebody is at it
					err = cmp.Or(err, failed)
				}
			}
		}
	}
	return err
}

// duePools are pools with an open item that has come.
func (s *Store) duePools(ctx context.Context) (pools []string, err error) {
	if err := cmp.Or(s.engine.Refusal(), s.admission.admitted()); err != nil {
		return nil, err
	}
	query := s.selectFrom("agenda", "pool_id").Where(squirrel.Eq{"done": 0})
	if s.engine.Clock != "" {
		query = query.Where("at <= " + s.engine.Clock)
	} else {
		query = query.Where(squirrel.LtOrEq{"at": s.engine.Time(s.Now())})
	}
	query = query.GroupBy("pool_id").Limit(duePoolsMax)
	err = s.snapshot(ctx, func(tx *sql.Tx) error {
		pools, err = selectAll(ctx, tx, query, func(row engine.Scanner) (id string, err error) {
			err = row.Scan(&id)
			return id, err
		})
		return err
	})
	return pools, err
}
