package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// turnWait is the pause between turns that cannot end, because a reader uses an old state
// of the database for a long time.
const turnWait = 200 * time.Millisecond

// turnWhenFull makes a turn whenever the WAL has grown enough, until ctx ends.
func (g *guard) turnWhenFull(ctx context.Context, db *sql.DB) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-g.full:
		}
		done, err := g.turn(ctx, db)
		if err != nil && ctx.Err() == nil && g.stopped.Load() == nil {
			_ = g.classify(err) // this stops the store if the file is damaged
			g.log.Warn("the WAL could not be copied into the database file; it grows", "error", err)
		}
		if done {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(turnWait):
		}
	}
}

// turn copies the WAL to the file and begins a new generation of the WAL. It changes the
// file's id before and after that: see package sqlitefile. It uses the only connection
// that writes, so that nothing is written at the same time. done is false if a reader
// still uses an older state. Then the current generation continues.
func (g *guard) turn(ctx context.Context, db *sql.DB) (done bool, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }() // returns to the pool
	if done, err = g.checkpoint(ctx, conn); !done || err != nil {
		return false, err
	}
	id := rand.Int32() &^ 1
	if err := setID(ctx, conn, id); err != nil {
		return false, err
	}
	if done, err = g.checkpoint(ctx, conn); !done || err != nil {
		return false, err
	}
	return true, setID(ctx, conn, id+1)
}

// checkpoint copies the WAL to the file, except for the part that readers of an older
// state still need. done means that the whole WAL is copied.
func (g *guard) checkpoint(ctx context.Context, conn *sql.Conn) (done bool, err error) {
	if err := g.writable(); err != nil {
		return false, err // the file at the path may be another one by now
	}
	var busy, frames, copied int64
	err = conn.QueryRowContext(ctx, `PRAGMA wal_checkpoint(PASSIVE)`).Scan(&busy, &frames, &copied)
	return busy == 0 && frames == copied, errors.Join(err, g.file.Turned())
}

func setID(ctx context.Context, conn *sql.Conn, id int32) error {
	_, err := conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, id))
	return err
}
