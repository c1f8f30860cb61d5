package hooks

import (
	"context"
	"database/sql"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/hook"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// ReadHooks returns all hooks with their status, without their secrets, and the
// database's time. Errors: those of the store.
func (h *Hooks) ReadHooks(ctx context.Context) (all []hook.Seen, now time.Time, err error) {
	if h.ledger.Engine.Lacks(engine.PartHooks) {
		return nil, h.ledger.Now(), nil
	}
	err = h.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		all = nil
		if now, err = h.ledger.DatabaseTime(ctx, tx); err != nil {
			return err
		}
		rows, err := h.read(ctx, tx, nil, "")
		for i := range rows {
			if err != nil {
				return err
			}
			var seen hook.Seen
			seen, err = h.see(ctx, tx, &rows[i], now)
			all = append(all, seen)
		}
		return err
	})
	return all, now, err
}

// ReadHook returns one hook with its status, without its secrets, and the database's time.
// Errors: CodeHookNotFound, and those of the store.
func (h *Hooks) ReadHook(ctx context.Context, id string) (seen hook.Seen, now time.Time, err error) {
	err = h.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		if now, err = h.ledger.DatabaseTime(ctx, tx); err != nil {
			return err
		}
		r, err := h.readOne(ctx, tx, id, "")
		if err == nil {
			seen, err = h.see(ctx, tx, &r, now)
		}
		return err
	})
	return seen, now, err
}

// see returns a hook with its status.
func (h *Hooks) see(ctx context.Context, tx *sql.Tx, r *row, now time.Time) (hook.Seen, error) {
	seen := hook.Seen{Hook: r.Hook}
	seen.FormerUntil = r.formerUntil(now)
	seen.State = hook.StateOn
	if err := h.seeCursors(ctx, tx, r, &seen.Status); err != nil {
		return seen, err
	}
	if r.IsOff {
		seen.State, seen.Status.Why, seen.NextAt = hook.StateOff, string(r.Why), time.Time{}
	}
	var err error
	seen.Lag, err = h.lag(ctx, tx, r)
	return seen, err
}

// seeCursors adds the status that follows from the cursors: forks, failures and the last
// answer.
func (h *Hooks) seeCursors(ctx context.Context, tx *sql.Tx, r *row, s *hook.Status) error {
	of := h.ledger.SelectFrom("hook_cursors AS c", append([]string{"c.hook_id", "c.pool_id"}, cursorColumns()...)...).Where(squirrel.Eq{"c.hook_id": r.ID})
	last, err := ledger.SelectAll(ctx, tx, of.OrderBy("c.last_at DESC", "c.pool_id").Limit(1), scanCursor)
	if err != nil {
		return err
	}
	if len(last) > 0 && last[0].Answer.At.After(engine.Epoch(time.Time{})) {
		s.Last = last[0].Answer
	}
	failing, err := ledger.SelectAll(ctx, tx, of.Where(squirrel.Gt{"c.attempts": 0}).OrderBy("c.next_at", "c.pool_id").Limit(1), scanCursor)
	if err != nil {
		return err
	}
	if len(failing) > 0 {
		s.State, s.NextAt = hook.StateFailing, failing[0].NextAt
	}
	forked, err := ledger.SelectAll(ctx, tx, of.Where(squirrel.Eq{"c.forked": true}).OrderBy("c.pool_id").Limit(1), scanCursor)
	if err == nil && len(forked) > 0 {
		s.State, s.Why = hook.StateForked, hook.ShowFork(&forked[0])
	}
	return err
}

// lag reads how many entries of the history and how many steps a hook has not sent yet.
func (h *Hooks) lag(ctx context.Context, tx *sql.Tx, r *row) (l hook.Lag, err error) {
	left := func(head, at string) string {
		return "CASE WHEN COALESCE(" + head + ", 0) > COALESCE(" + at + ", 0) THEN " + head + " - COALESCE(" + at + ", 0) ELSE 0 END"
	}
	query := h.ofPools([]hook.Hook{r.Hook}, "COALESCE(SUM("+left("p.version", "c.version")+" + "+left("n.n", "c.step")+"), 0)")
	n, err := ledger.SelectAll(ctx, tx, query, ledger.ScanInt)
	if err != nil || n[0] == 0 {
		return l, err
	}
	l.Events = n[0]
	for table, next := range map[string]string{
		"awards": "l.version = COALESCE(c.version, 0) + 1", "moves": "l.version = COALESCE(c.version, 0) + 1",
		"changes": "l.version = COALESCE(c.version, 0) + 1", "steps": "l.n = COALESCE(c.step, 0) + 1",
	} {
		oldest := h.ofPools([]hook.Hook{r.Hook}, "l.at").Join(table + " AS l ON l.pool_id = p.id AND " + next).OrderBy("l.at").Limit(1)
		times, err := ledger.SelectAll(ctx, tx, oldest, func(row engine.Scanner) (at time.Time, err error) {
			err = row.Scan(engine.ScanTime(&at))
			return at, err
		})
		if err != nil {
			return l, err
		}
		if len(times) > 0 && (l.Oldest.IsZero() || times[0].Before(l.Oldest)) {
			l.Oldest = times[0]
		}
	}
	return l, nil
}

// ruleHookAhead is the rule of an audit about cursors: no cursor is after the last entry
// or the last step of its pool.
const ruleHookAhead = "hook-ahead"

// AuditHooks begins to check the cursors in a pool that is audited.
func (h *Hooks) AuditHooks(ctx context.Context, of *ledger.Audited, found ledger.Found) (ledger.Judge, error) {
	if h.ledger.Engine.Lacks(engine.PartHooks) {
		return ledger.Judge{}, nil
	}
	return ledger.Judge{End: func() error { return h.auditCursors(ctx, of, found) }}, nil
}

func (h *Hooks) auditCursors(ctx context.Context, of *ledger.Audited, found ledger.Found) error {
	query := h.ledger.SelectFrom("hook_cursors AS c JOIN pools AS p ON p.id = c.pool_id LEFT JOIN step_heads AS n ON n.pool_id = c.pool_id",
		"c.hook_id", "c.version", "c.to_version", "p.version", "c.step", "c.to_step", "COALESCE(n.n, 0)").
		Where(squirrel.Eq{"c.pool_id": of.PoolID}).OrderBy("c.hook_id")
	_, err := ledger.SelectAll(ctx, of, query, func(row engine.Scanner) (struct{}, error) {
		var id string
		var at, to, head hook.Place
		err := row.Scan(&id, &at.Version, &to.Version, &head.Version, &at.Step, &to.Step, &head.Step)
		if sent := max(at.Version, to.Version); sent > head.Version {
			found(ruleHookAhead, "hook %q has sent up to version %d, and the pool is at %d", id, sent, head.Version)
		}
		if sent := max(at.Step, to.Step); sent > head.Step {
			found(ruleHookAhead, "hook %q has sent up to step %d, and the pool is at %d", id, sent, head.Step)
		}
		return struct{}{}, err
	})
	return err
}
