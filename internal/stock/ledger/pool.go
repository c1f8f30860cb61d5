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
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
)

// LockedPool is a pool whose row is locked, and the entries that are made on
// it: at is their time, actor who makes them. head moves on with them.
type LockedPool struct {
	Pool  draw.Pool // as it was before, without prizes
	Head  draw.Head
	At    time.Time
	Actor string
	// DueAt is the time of the earliest open item of the agenda, zero for none.
	DueAt time.Time
	// Committed is the version of the pool's commitment, 0 for none, and Promise the
	// commitment, once the guard has read it.
	Committed int64
	Promise   *proof.Commitment
	// Opened is the version of the change that opened the pool with a round, Round
	// the one that it is announced to open with; both are 0 for none.
	Opened, Round int64
}

// NewChange is a change to make, and what it sets in the pool's row.
type NewChange struct {
	What draw.What
	Body any
	Set  map[string]any
}

// IsDue reports whether an item of the pool's agenda has come.
func (of *LockedPool) IsDue() bool { return !of.DueAt.IsZero() && !of.DueAt.After(of.At) }

// Unannounce withdraws the announced round, if there is one: whoever knows it and the
// seed could otherwise fit the pool to the numbers.
func (of *LockedPool) Unannounce(set map[string]any) {
	if of.Round != 0 {
		of.Round, set["opening_round"], set["opening_at"] = 0, int64(0), nil
	}
}

// LockPool is LockRow for changes, which come after what is due of the agenda. They do
// not wait for an item that is left to other instances: it may be what they remove.
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

// LockRow locks the pool's row until the transaction ends. The time of what is
// done to it is the database's, and not before that of the last entry.
func (l *Ledger) LockRow(ctx context.Context, tx *sql.Tx, id, actor string) (*LockedPool, error) {
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
	err := l.SelectFrom("pools", columns...).Where(squirrel.Eq{"id": id}).Suffix(l.Engine.ForUpdate).
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

// Record makes changes, one after another, and notes them on the pool's row.
func (l *Ledger) Record(ctx context.Context, tx *sql.Tx, of *LockedPool, all []NewChange) error {
	if len(all) == 0 {
		return nil
	}
	to := of.Head.Next(len(all))
	set := map[string]any{"revision": to.Version} // of several changes of a column, the last one's
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

// moveHead is an update of a pool's row that moves its head on.
func (l *Ledger) moveHead(of *LockedPool, to draw.Head) squirrel.UpdateBuilder {
	return l.Builder().Update("pools").
		Set("version", to.Version).Set("mark", to.Mark).Set("trail", []byte(to.Trail)).Set("at", l.Engine.Time(of.At)).
		Where(squirrel.Eq{"id": of.Pool.ID, "version": of.Head.Version, "mark": of.Head.Mark})
}

// poolDue says that the agenda of a pool comes before a change of it.
type poolDue struct{ poolID string }

// Error implements error.
func (e *poolDue) Error() string { return "an item of the agenda is due" }

// Unwrap gives the error its class.
func (e *poolDue) Unwrap() error { return engine.ErrDue }
