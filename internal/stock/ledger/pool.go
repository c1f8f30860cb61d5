package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// LockPool is LockRow for changes. It returns an error if due items of the agenda must be
// carried out first. It does not wait for items that are left to other instances: a
// change may remove such an item.
func (l *Ledger) LockPool(ctx context.Context, tx *sql.Tx, id, actor string) (*LockedPool, error) {
	of, err := l.LockRow(ctx, tx, id, actor)
	if err != nil || !of.IsDue() {
		return of, err
	}
	isLeft, err := l.Agenda.IsLeft(ctx, tx, of)
	if err == nil && !isLeft {
		err = &poolDue{id}
	}
	return of, err
}

// LockRow locks the pool's row until the transaction ends. New entries get the
// database's time, but never a time before the last entry.
func (l *Ledger) LockRow(ctx context.Context, tx *sql.Tx, id, actor string) (*LockedPool, error) {
	return l.readRow(ctx, tx, id, actor, l.Engine.ForUpdate)
}

// ReadRow is LockRow without a lock, for finding out why a change would be refused.
func (l *Ledger) ReadRow(ctx context.Context, tx *sql.Tx, id, actor string) (*LockedPool, error) {
	return l.readRow(ctx, tx, id, actor, "")
}

func (l *Ledger) readRow(ctx context.Context, tx *sql.Tx, id, actor, suffix string) (*LockedPool, error) {
	of := &LockedPool{Pool: draw.Pool{ID: id}, Actor: actor}
	p := &of.Pool
	var trail []byte
	var last time.Time
	columns := []string{"name", "state", "COALESCE(mode, '')", "revision", "archived", "rules", "version", "mark", "trail", "at", "due_at", "committed", "opened", "opening_round"}
	to := []any{&p.Name, &p.State, &p.Mode, &p.Revision, &p.Archived, &p.RulesVersion, &of.Head.Version, &of.Head.Mark, &trail, engine.ScanTime(&last), engine.ScanTime(&of.DueAt), &of.Committed, &of.Opened, &of.Round}
	of.At = l.Now()
	if l.Engine.Clock != "" {
		columns, to = append(columns, l.Engine.Clock), append(to, &of.At)
	}
	err := l.SelectFrom("pools", columns...).Where(squirrel.Eq{"id": id}).Suffix(suffix).
		RunWith(tx).QueryRowContext(ctx).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, engine.PoolNotFound(id)
	}
	if err != nil {
		return nil, err
	}
	of.Head.Trail = draw.Trail(trail)
	if of.At = l.judged(of.At).UTC().Truncate(time.Microsecond); of.At.Before(last) {
		of.At = last
	}
	return of, nil
}

// Record writes changes in order, and records them on the pool's row.
func (l *Ledger) Record(ctx context.Context, tx *sql.Tx, of *LockedPool, all []NewChange) error {
	if len(all) == 0 {
		return nil
	}
	to := of.Head.Next(len(all))
	set := map[string]any{"revision": to.Version} // the last value, if several changes set a column
	entries := make([]draw.Change, len(all))
	for i, c := range all {
		body, err := json.Marshal(c.Body)
		if err != nil {
			return err
		}
		entries[i] = draw.Change{Version: of.Head.Version + int64(i) + 1, What: c.What, Body: string(body), Actor: of.Actor}
		maps.Copy(set, c.Set)
	}
	if err := appendTo(ctx, tx, l.Engine.Dialect, l.changes, of.Pool.ID, l.Engine.Time(of.At), entries); err != nil {
		return err
	}
	update := l.moveHead(of, to).SetMap(set)
	of.Head, of.Pool.Revision = to, to.Version
	return ExecOne(ctx, tx, update)
}

// moveHead begins an update of a pool's row that advances its head.
func (l *Ledger) moveHead(of *LockedPool, to draw.Head) squirrel.UpdateBuilder {
	return l.Builder().Update("pools").
		Set("version", to.Version).Set("mark", to.Mark).Set("trail", []byte(to.Trail)).Set("at", l.Engine.Time(of.At)).
		Where(squirrel.Eq{"id": of.Pool.ID, "version": of.Head.Version, "mark": of.Head.Mark})
}
