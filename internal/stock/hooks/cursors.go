package hooks

import (
	"context"
	"database/sql"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
	"drawsvc/internal/hook"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// waitingMax is the maximum number of cursors that one poll finds. The next poll finds
// the others.
const waitingMax = 5000

// HooksOn implements hook.Senders. It leaves out hooks whose secret this instance cannot
// unseal.
func (h *Hooks) HooksOn(ctx context.Context) (on []hook.Hook, err error) {
	if h.ledger.Engine.Lacks(engine.PartHooks) {
		return nil, nil
	}
	err = h.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		on = nil
		all, err := h.read(ctx, tx, squirrel.Eq{"is_off": false}, "")
		for i := range all {
			if opened, err := h.open(&all[i]); err == nil {
				on = append(on, opened)
			}
		}
		return err
	})
	return on, err
}

// HasHooks reports whether any hook is on.
func (h *Hooks) HasHooks(ctx context.Context) bool {
	on, err := h.HooksOn(ctx)
	return err == nil && len(on) > 0
}

func cursorColumns() []string {
	return []string{
		"COALESCE(c.version, 0)", "COALESCE(c.step, 0)", "COALESCE(c.entry, '')", "COALESCE(c.message, '')",
		"COALESCE(c.to_version, 0)", "COALESCE(c.to_step, 0)", "COALESCE(c.to_entry, '')", "COALESCE(c.attempts, 0)", "c.next_at",
		"c.forked IS NOT NULL AND c.forked", "c.pool_id IS NOT NULL",
		"c.last_at", "COALESCE(c.last_status, 0)", "COALESCE(c.last_error, '')", "COALESCE(c.last_ms, 0)",
	}
}

func cursorFields(c *hook.Cursor, ms *int64) []any {
	return []any{
		&c.HookID, &c.PoolID, &c.At.Version, &c.At.Step, &c.Last, &c.Message, &c.To.Version, &c.To.Step, &c.ToID, &c.Attempts, engine.ScanTime(&c.NextAt),
		&c.IsForked, &c.IsStored, engine.ScanTime(&c.Answer.At), &c.Answer.Status, &c.Answer.Error, ms,
	}
}

func scanCursor(s engine.Scanner) (c hook.Cursor, err error) {
	var ms int64
	err = s.Scan(cursorFields(&c, &ms)...)
	c.Answer.Took = time.Duration(ms) * time.Millisecond
	return c, err
}

// ofPools selects the pools AS p of each of the hooks AS h. It joins the row AS n that
// numbers the pool's steps, and the hook's cursor AS c in the pool, if they exist.
func (h *Hooks) ofPools(hooks []hook.Hook, columns ...string) squirrel.SelectBuilder {
	var wanted squirrel.Or
	for i := range hooks {
		one := squirrel.Eq{"h.id": hooks[i].ID}
		if hooks[i].Pools != nil {
			one["p.id"] = hooks[i].Pools
		}
		wanted = append(wanted, one)
	}
	return h.ledger.SelectFrom("hooks AS h CROSS JOIN pools AS p LEFT JOIN step_heads AS n ON n.pool_id = p.id "+
		"LEFT JOIN hook_cursors AS c ON c.hook_id = h.id AND c.pool_id = p.id", columns...).Where(wanted)
}

// Waiting implements hook.Source.
func (h *Hooks) Waiting(ctx context.Context, hooks []hook.Hook, now time.Time) (found []hook.Cursor, err error) {
	//double:one-queue Limit(waitingMax) => Limit(1)
	query := h.ofPools(hooks, append([]string{"h.id", "p.id"}, cursorColumns()...)...).
		Where("(p.version <> COALESCE(c.version, 0) OR COALESCE(n.n, 0) <> COALESCE(c.step, 0))").
		Where(squirrel.Or{squirrel.Eq{"c.pool_id": nil}, squirrel.And{squirrel.Eq{"c.forked": false}, squirrel.LtOrEq{"c.next_at": h.ledger.Engine.Time(now)}}}).
		OrderBy("h.id", "p.id").Limit(waitingMax)
	err = h.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		found, err = ledger.SelectAll(ctx, tx, query, scanCursor)
		return err
	})
	return found, err
}

// MoveCursor implements hook.Senders.
func (h *Hooks) MoveCursor(ctx context.Context, revision int64, from, to *hook.Cursor) (moved bool, err error) {
	fault.At(fault.BeforeCursor)
	isOn := squirrel.Expr("EXISTS (SELECT 1 FROM hooks WHERE id = ? AND revision = ? AND is_off = ?)", from.HookID, revision, false)
	err = h.ledger.Change(ctx, func(tx *sql.Tx) error {
		if moved = false; !from.IsStored {
			moved, err = h.addCursor(ctx, tx, isOn, to)
			return err
		}
		update := h.ledger.Builder().Update("hook_cursors").SetMap(h.values(to)).
			Where(squirrel.Eq{
				"hook_id": from.HookID, "pool_id": from.PoolID, "version": from.At.Version, "step": from.At.Step,
				"message": from.Message, "attempts": from.Attempts, "forked": false,
			}).Where(isOn)
		result, err := update.RunWith(tx).ExecContext(ctx)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		moved = n == 1
		return err
	})
	fault.At(fault.AfterCursor)
	return moved && err == nil, err
}

func (h *Hooks) values(c *hook.Cursor) map[string]any {
	return map[string]any{
		"version": c.At.Version, "step": c.At.Step, "entry": c.Last, "message": c.Message, "to_version": c.To.Version, "to_step": c.To.Step, "to_entry": c.ToID,
		"attempts": c.Attempts, "next_at": h.ledger.Engine.Time(engine.Epoch(c.NextAt)), "forked": c.IsForked,
		"last_at": h.ledger.Engine.Time(engine.Epoch(c.Answer.At)), "last_status": c.Answer.Status, "last_error": c.Answer.Error, "last_ms": c.Answer.Took.Milliseconds(),
	}
}

// addCursor adds the cursor of a hook for a pool that was created after the hook.
func (h *Hooks) addCursor(ctx context.Context, tx *sql.Tx, isOn squirrel.Sqlizer, c *hook.Cursor) (added bool, err error) {
	there, err := ledger.SelectAll(ctx, tx, h.ledger.SelectFrom("pools", "COUNT(*)").Where(squirrel.Eq{"id": c.PoolID}).Where(isOn), ledger.ScanInt)
	if err != nil || there[0] == 0 {
		return false, err
	}
	values := h.values(c)
	values["hook_id"], values["pool_id"] = c.HookID, c.PoolID
	_, err = h.ledger.InsertInto("hook_cursors").SetMap(values).RunWith(tx).ExecContext(ctx)
	if h.ledger.IsDuplicate(err) {
		// Another relay added it first. On some databases this error ends the
		// transaction.
		return false, draw.Errorf(draw.CodeContended, "the cursor of hook %q in pool %q was added meanwhile", c.HookID, c.PoolID)
	}
	return err == nil, err
}

// EndHook implements hook.Senders.
func (h *Hooks) EndHook(ctx context.Context, hookID string, revision int64, why hook.Why) error {
	return h.ledger.Change(ctx, func(tx *sql.Tx) error {
		update := h.ledger.Builder().Update("hooks").Set("is_off", true).Set("why", string(why)).Set("revision", revision+1).
			Where(squirrel.Eq{"id": hookID, "revision": revision, "is_off": false})
		_, err := update.RunWith(tx).ExecContext(ctx)
		return err
	})
}

// RetryHook makes all waiting messages of a hook due now. Errors: CodeHookNotFound, and
// those of the store.
func (h *Hooks) RetryHook(ctx context.Context, id string) error {
	return h.ledger.Change(ctx, func(tx *sql.Tx) error {
		if _, err := h.readOne(ctx, tx, id, ""); err != nil {
			return err
		}
		update := h.ledger.Builder().Update("hook_cursors").Set("next_at", h.ledger.Engine.Time(engine.Epoch(time.Time{}))).Where(squirrel.Eq{"hook_id": id})
		_, err := update.RunWith(tx).ExecContext(ctx)
		return err
	})
}

// SkipHook skips the message of a pool that waits for its next attempt. It returns the
// positions before and after that message, which are equal if no message waits. Errors:
// CodeHookNotFound, CodePoolNotFound, and those of the store.
func (h *Hooks) SkipHook(ctx context.Context, id, poolID string) (before, after hook.Place, err error) {
	err = h.changeCursor(ctx, id, poolID, func(_ *sql.Tx, c hook.Cursor, _ hook.Place) (hook.Cursor, error) {
		before, after = c.At, c.At
		if c.Message != "" && c.Attempts > 0 {
			c = c.Passed()
			after = c.At
		}
		return c, nil
	})
	return before, after, err
}

// ReplayHook sends again the events of a pool that come after a place. Errors:
// CodeInvalidRequest, CodeHookNotFound, CodePoolNotFound, and those of the store.
func (h *Hooks) ReplayHook(ctx context.Context, id, poolID string, after hook.Place) error {
	return h.changeCursor(ctx, id, poolID, func(tx *sql.Tx, c hook.Cursor, head hook.Place) (hook.Cursor, error) {
		if after.Version > head.Version {
			return c, draw.Errorf(draw.CodeInvalidRequest, "after is %d, and pool %q is at version %d", after.Version, poolID, head.Version)
		}
		if after.Step > head.Step {
			return c, draw.Errorf(draw.CodeInvalidRequest, "after_step is %d, and pool %q is at step %d", after.Step, poolID, head.Step)
		}
		last, err := h.placeID(ctx, tx, poolID, after)
		if err != nil {
			return c, err
		}
		c = c.MovedTo(after, last)
		c.IsForked = false
		return c, nil
	})
}

// placeID reads the id of a place, "" if there is neither an entry nor a step at the
// place.
func (h *Hooks) placeID(ctx context.Context, tx *sql.Tx, poolID string, at hook.Place) (string, error) {
	r := hook.Reading{}
	if err := h.readEntries(ctx, tx, poolID, at, at.Version, false, &r); err != nil {
		return "", err
	}
	if err := h.readSteps(ctx, tx, poolID, at, at.Step, false, &r); err != nil {
		return "", err
	}
	return hook.PlaceID(r.Before.EntryID, r.Before.StepID), nil
}

// changeCursor locks the cursor of a hook in a pool, and changes it with the function
// edit.
func (h *Hooks) changeCursor(ctx context.Context, id, poolID string, edit func(*sql.Tx, hook.Cursor, hook.Place) (hook.Cursor, error)) error {
	return h.ledger.Change(ctx, func(tx *sql.Tx) error {
		if _, err := h.readOne(ctx, tx, id, h.ledger.Engine.ForUpdate); err != nil {
			return err
		}
		heads, err := ledger.SelectAll(ctx, tx, h.ledger.SelectFrom("pools", "version").Where(squirrel.Eq{"id": poolID}), ledger.ScanInt)
		if err != nil {
			return err
		}
		if len(heads) == 0 {
			return h.ledger.Absent(ctx, tx, engine.PoolNotFound(poolID))
		}
		head := hook.Place{Version: heads[0]}
		if head.Step, err = h.ledger.LastStep(ctx, tx, poolID); err != nil {
			return err
		}
		query := h.ledger.SelectFrom("hook_cursors AS c", append([]string{"c.hook_id", "c.pool_id"}, cursorColumns()...)...).
			Where(squirrel.Eq{"c.hook_id": id, "c.pool_id": poolID}).Suffix(h.ledger.Engine.ForUpdate)
		found, err := ledger.SelectAll(ctx, tx, query, scanCursor)
		if err != nil {
			return err
		}
		c := hook.Cursor{HookID: id, PoolID: poolID}
		if len(found) > 0 {
			c = found[0]
		}
		next, err := edit(tx, c, head)
		if err != nil {
			return err
		}
		values := h.values(&next)
		if c.IsStored {
			_, err = h.ledger.Builder().Update("hook_cursors").SetMap(values).Where(squirrel.Eq{"hook_id": id, "pool_id": poolID}).RunWith(tx).ExecContext(ctx)
			return err
		}
		values["hook_id"], values["pool_id"] = id, poolID
		_, err = h.ledger.InsertInto("hook_cursors").SetMap(values).RunWith(tx).ExecContext(ctx)
		if h.ledger.IsDuplicate(err) {
			return engine.ErrConflict // the relay has added it
		}
		return err
	})
}
