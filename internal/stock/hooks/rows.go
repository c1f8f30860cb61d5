package hooks

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/hook"
	"drawsvc/internal/seal"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// ReadSteps reads, in the caller's snapshot, at most limit steps of a pool with numbers
// greater than after, in order.
type ReadSteps func(ctx context.Context, q engine.Querier, poolID string, after int64, limit int) ([]draw.Step, error)

// Hooks stores hooks in a ledger's database.
type Hooks struct {
	ledger *ledger.Ledger
	steps  ReadSteps
	keys   *seal.Keeper
	// sealing returns the key under which to seal. Error: CodeSealKeyMissing.
	sealing func(ctx context.Context) (*seal.Key, error)
}

// New returns the hooks in a ledger's database. If keys is nil, no secret can be
// unsealed.
func New(l *ledger.Ledger, steps ReadSteps, keys *seal.Keeper, sealing func(ctx context.Context) (*seal.Key, error)) *Hooks {
	return &Hooks{l, steps, keys, sealing}
}

// row is a hook in the form in which the database stores it.
type row struct {
	hook.Hook
	keyID, formerKey string
	secret, former   []byte
}

func columns() []string {
	return []string{
		"id", "url", "types", "pools", "prizes", "is_off", "why", "revision", "key_id", "secret", "former_key", "former", "former_until",
	}
}

func scanRow(s engine.Scanner) (r row, err error) {
	var types, pools, prizes string
	err = s.Scan(&r.ID, &r.URL, &types, &pools, &prizes, &r.IsOff, (*string)(&r.Why), &r.Revision, &r.keyID, &r.secret,
		&r.formerKey, &r.former, engine.ScanTime(&r.FormerUntil))
	r.Types, r.Pools, r.Prizes = readList[hook.Type](types), readList[string](pools), readList[string](prizes)
	return r, err
}

// readList reads a list of a filter; "" is nil.
func readList[T ~string](text string) (list []T) {
	if text != "" {
		_ = json.Unmarshal([]byte(text), &list) // the service has written it
	}
	return list
}

func showList[T ~string](list []T) string {
	if list == nil {
		return ""
	}
	text, _ := json.Marshal(list) // strings can always be encoded
	return string(text)
}

// read reads hooks in the order of their creation.
func (h *Hooks) read(ctx context.Context, q engine.Querier, where squirrel.Sqlizer, suffix string) ([]row, error) {
	query := h.ledger.SelectFrom("hooks", columns()...).OrderBy("created_at", "id").Suffix(suffix)
	if where != nil {
		query = query.Where(where)
	}
	return ledger.SelectAll(ctx, q, query, scanRow)
}

// readOne reads a hook. Error: CodeHookNotFound.
func (h *Hooks) readOne(ctx context.Context, tx *sql.Tx, id, suffix string) (row, error) {
	if h.ledger.Engine.Lacks(engine.PartHooks) {
		return row{}, hook.ErrNotFound(id)
	}
	found, err := h.read(ctx, tx, squirrel.Eq{"id": id}, suffix)
	if err != nil {
		return row{}, err
	}
	if len(found) == 0 {
		return row{}, h.ledger.Absent(ctx, tx, hook.ErrNotFound(id))
	}
	return found[0], nil
}

// CreateHook creates a hook with a new secret, which it returns. Errors:
// CodeInvalidRequest, CodeSealKeyMissing, and those of the store.
func (h *Hooks) CreateHook(ctx context.Context, w hook.Create) (hook.Hook, error) {
	if h.ledger.Engine.Lacks(engine.PartHooks) {
		return hook.Hook{}, draw.Errorf(draw.CodeStoreUnavailable, "the database's schema has no place for hooks yet: run `drawsvc migrate up`")
	}
	key, err := h.sealing(ctx)
	if err != nil {
		return hook.Hook{}, err
	}
	made := hook.Hook{ID: hook.NewID(), URL: w.URL, Filter: w.Filter, Revision: 1, Secret: hook.NewSecret()}
	err = h.ledger.Change(ctx, func(tx *sql.Tx) error {
		all, err := h.read(ctx, tx, nil, h.ledger.Engine.ForUpdate)
		if err != nil {
			return err
		}
		if len(all) >= hook.HooksMax {
			return draw.Errorf(draw.CodeInvalidRequest, "there are %d hooks, which is the maximum", len(all))
		}
		if err := checkOnly(&made, all); err != nil {
			return err
		}
		now, err := h.ledger.DatabaseTime(ctx, tx)
		if err != nil {
			return err
		}
		insert := h.ledger.InsertInto("hooks").
			Columns("id", "url", "types", "pools", "prizes", "key_id", "secret", "created_at").
			Values(made.ID, made.URL, showList(made.Types), showList(made.Pools), showList(made.Prizes), key.ID,
				key.Seal(secretName(made.ID), made.Secret), h.ledger.Engine.Time(now))
		if _, err := insert.RunWith(tx).ExecContext(ctx); err != nil || w.FromStart {
			return err
		}
		return h.startAtHeads(ctx, tx, made.ID, made.WantsPool)
	})
	return made, err
}

// checkOnly returns an error if another hook sends the same events to the same URL.
func checkOnly(h *hook.Hook, all []row) error {
	for i := range all {
		if all[i].ID != h.ID && all[i].URL == h.URL && all[i].IsLike(&h.Filter) {
			return draw.Errorf(draw.CodeInvalidRequest, "hook %q sends the same events to the same url", all[i].ID)
		}
	}
	return nil
}

// startAtHeads adds cursors at the heads of the pools for which wants is true, except
// pools in which the hook has a cursor already.
func (h *Hooks) startAtHeads(ctx context.Context, tx *sql.Tx, hookID string, wants func(pool string) bool) error {
	type head struct {
		pool string
		at   hook.Place
	}
	query := h.ledger.SelectFrom("pools AS p LEFT JOIN step_heads AS n ON n.pool_id = p.id", "p.id", "p.version", "COALESCE(n.n, 0)").OrderBy("p.id").
		Where(squirrel.Expr("NOT EXISTS (SELECT 1 FROM hook_cursors WHERE hook_id = ? AND pool_id = p.id)", hookID))
	heads, err := ledger.SelectAll(ctx, tx, query, func(s engine.Scanner) (p head, err error) {
		err = s.Scan(&p.pool, &p.at.Version, &p.at.Step)
		return p, err
	})
	if err != nil {
		return err
	}
	heads = slices.DeleteFunc(heads, func(p head) bool { return !wants(p.pool) })
	for part := range slices.Chunk(heads, ledger.RowsMax) {
		insert := h.ledger.InsertInto("hook_cursors").Columns("hook_id", "pool_id", "version", "step")
		for _, p := range part {
			insert = insert.Values(hookID, p.pool, p.at.Version, p.at.Step)
		}
		if _, err := insert.RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// ChangeHook changes a hook and returns it. Errors: CodeInvalidRequest, CodeHookNotFound,
// and those of the store.
func (h *Hooks) ChangeHook(ctx context.Context, id string, c hook.Change) (changed hook.Hook, err error) {
	err = h.ledger.Change(ctx, func(tx *sql.Tx) error {
		before, err := h.readOne(ctx, tx, id, h.ledger.Engine.ForUpdate)
		if err != nil {
			return err
		}
		changed = before.Changed(&c)
		all, err := h.read(ctx, tx, nil, "")
		if err != nil {
			return err
		}
		if err := checkOnly(&changed, all); err != nil {
			return err
		}
		update := h.ledger.Builder().Update("hooks").Set("url", changed.URL).Set("types", showList(changed.Types)).
			Set("pools", showList(changed.Pools)).Set("prizes", showList(changed.Prizes)).
			Set("is_off", changed.IsOff).Set("why", string(changed.Why)).Set("revision", changed.Revision).Where(squirrel.Eq{"id": id})
		if err := ledger.ExecOne(ctx, tx, update); err != nil {
			return err
		}
		// A message that waits has the events of the former filter.
		isDropped := !changed.IsLike(&before.Filter)
		if isDropped || before.IsOff && !changed.IsOff {
			if err := h.restartMessages(ctx, tx, id, isDropped); err != nil {
				return err
			}
		}
		return h.startAtHeads(ctx, tx, id, func(pool string) bool { return changed.WantsPool(pool) && !before.WantsPool(pool) })
	})
	return changed, err
}

// restartMessages makes the messages of a hook due now, and sets the number of their
// attempts to 0. They keep their ids and events, unless isDropped is set.
func (h *Hooks) restartMessages(ctx context.Context, tx *sql.Tx, hookID string, isDropped bool) error {
	update := h.ledger.Builder().Update("hook_cursors").
		Set("attempts", 0).Set("next_at", h.ledger.Engine.Time(engine.Epoch(time.Time{}))).Where(squirrel.Eq{"hook_id": hookID})
	if isDropped {
		update = update.Set("message", "").Set("to_version", 0).Set("to_step", 0).Set("to_entry", "")
	}
	_, err := update.RunWith(tx).ExecContext(ctx)
	return err
}

// RemoveHook removes a hook and its cursors. Errors: CodeHookNotFound, and those of the
// store.
func (h *Hooks) RemoveHook(ctx context.Context, id string) error {
	return h.ledger.Change(ctx, func(tx *sql.Tx) error {
		if _, err := h.readOne(ctx, tx, id, h.ledger.Engine.ForUpdate); err != nil {
			return err
		}
		if _, err := h.ledger.Builder().Delete("hook_cursors").Where(squirrel.Eq{"hook_id": id}).RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
		_, err := h.ledger.Builder().Delete("hooks").Where(squirrel.Eq{"id": id}).RunWith(tx).ExecContext(ctx)
		return err
	})
}

// ForgetHooks removes the cursors of a pool that is deleted.
func (h *Hooks) ForgetHooks(ctx context.Context, tx *sql.Tx, poolID string) error {
	if h.ledger.Engine.Lacks(engine.PartHooks) {
		return nil
	}
	_, err := h.ledger.Builder().Delete("hook_cursors").Where(squirrel.Eq{"pool_id": poolID}).RunWith(tx).ExecContext(ctx)
	return err
}
