package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"sync/atomic"

	"modernc.org/sqlite"

	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/sqlitefile"
)

// guard checks every write to an embedded database. It stops the store permanently if the
// file is damaged, or is no longer the file at its path. Otherwise an acknowledged write
// might not be in any file.
type guard struct {
	file *sqlitefile.File
	log  *slog.Logger
	// stopped is the reason why nothing is read or written any more, nil if the store
	// works.
	stopped atomic.Pointer[engine.Error]
	// full requests a turn because the WAL holds framesMax pages.
	full      chan struct{}
	framesMax int64
	// end ends the goroutine that makes the turns, and waits until it has ended.
	end func()
	// anchor is an additional connection that has read. While it is open, SQLite does not
	// copy the WAL to the file when the other connections are closed. If the store has
	// stopped, anchor stays open, because the file may be another database by then.
	anchor driver.Conn
}

// The reasons to stop.
const (
	reasonDamaged = "damaged"
	reasonMoved   = "moved"
	// reasonStopped is the reason of every refusal after the store has stopped.
	reasonStopped = "stopped"
)

// usable returns nil, or an *Error if the store has stopped.
func (g *guard) usable() error { return g.unless(g.file.Moved) }

// writable returns nil, or an *Error if the store has stopped or the file cannot be
// written to. Only the one connection that writes may call it.
func (g *guard) writable() error { return g.unless(g.file.Writable) }

// unless stops the store if check fails.
func (g *guard) unless(check func() error) error {
	if g.stopped.Load() == nil {
		if err := check(); err != nil {
			g.stop(reasonMoved, err)
		}
	}
	if e := g.stopped.Load(); e != nil {
		return e
	}
	return nil
}

func (g *guard) stop(reason string, err error) {
	if !g.stopped.CompareAndSwap(nil, engine.Unavailable(reasonStopped, err, true)) {
		return
	}
	advice := "restart the service, which then examines the file"
	if reason == reasonDamaged {
		if err := g.file.Damaged(); err != nil {
			g.log.Error("the damage could not be recorded for the next start", "error", err)
		}
		advice += "; if it is refused, restore a backup with `drawsvc restore FILE`"
	}
	g.log.Error("the database file cannot be used any more: all draws and changes are refused until a restart",
		"reason", reason, "error", err, "advice", advice)
}

// classify classifies an error by its code, and stops the store if the file is damaged.
func (g *guard) classify(err error) *engine.Error {
	e := classify(err)
	if e != nil && e.Reason == reasonDamaged {
		g.stop(reasonDamaged, err)
	}
	return e
}

// fullEvery is how many commits pass between two readings of the size of the WAL.
const fullEvery = 4

// watch makes every commit of a connection check whether the store is usable.
func (g *guard) watch(conn driver.Conn) error {
	hooks, ok := conn.(sqlite.HookRegisterer)
	if !ok {
		return errors.New("sqlite: the driver of SQLite has no commit hook")
	}
	commits := 0
	hooks.RegisterCommitHook(func() int32 {
		if g.writable() != nil {
			return 1 // makes SQLite roll back
		}
		commits++
		if commits%fullEvery == 0 && g.file.Holds(g.framesMax) {
			select {
			case g.full <- struct{}{}:
			default: // a turn is already requested
			}
		}
		return 0
	})
	return nil
}

// begin opens the database and begins a generation of its WAL. From then on, every commit
// is checked.
func (g *guard) begin(ctx context.Context, db *sql.DB, path string) (err error) {
	if err := db.PingContext(ctx); err != nil {
		return err
	}
	if _, err := g.turn(ctx, db); err != nil {
		_ = g.classify(err) // records damage, if there is any, for the next start
		return err
	}
	if err := g.file.Opened(); err != nil {
		return err
	}
	if g.anchor, err = openAnchor(ctx, path); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		g.turnWhenFull(ctx, db)
	}()
	g.end = func() { cancel(); <-ended }
	return nil
}

// openAnchor opens the connection anchor and reads once.
func openAnchor(ctx context.Context, path string) (driver.Conn, error) {
	connector, err := sqlite.NewConnector(uri(path, "_pragma=query_only(1)"))
	if err != nil {
		return nil, err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := conn.(driver.QueryerContext).QueryContext(ctx, `SELECT COUNT(*) FROM sqlite_schema`, nil)
	if err == nil {
		err = errors.Join(rows.Next(make([]driver.Value, 1)), rows.Close())
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// closeWriter closes the connection that writes, after all others, so that SQLite copies
// the WAL to the file and removes it.
func (g *guard) closeWriter(db *sql.DB) error {
	if g.end != nil {
		g.end()
	}
	if g.anchor != nil && g.usable() == nil {
		return errors.Join(g.anchor.Close(), db.Close())
	}
	return db.Close()
}

// close releases the file.
func (g *guard) close() error { return g.file.Close(g.stopped.Load() == nil) }

// lockAdmitted locks the file exclusively for this process, if admit accepts the file.
func lockAdmitted(ctx context.Context, path string, o engine.Options) (*sqlitefile.File, error) {
	file, err := Lock(path)
	if err != nil {
		return nil, err
	}
	if err := admit(ctx, path, o); err != nil {
		return nil, errors.Join(err, file.Close(false))
	}
	return file, nil
}
