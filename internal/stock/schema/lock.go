package schema

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/pressly/goose/v3/lock"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

const (
	// migrateLease is how long a process that was killed while it migrated
	// keeps others waiting. Its lock is a row, because not every database and
	// not every proxy before one keeps a lock for a session.
	migrateLease = 10 * time.Second
	// migrateTick is how often the lock is asked for.
	migrateTick = time.Second
	// migrateTold is every how many times the wait is logged again.
	migrateTold = 10
	// holderMax bounds the question who has the lock.
	holderMax = 5 * time.Second
)

// migrateLock is the wait for the row that lets one process migrate.
type migrateLock struct {
	keeper *Keeper
	begun  time.Time
	waits  int
	held   bool
}

func (l *migrateLock) options() []lock.TableLockerOption {
	return []lock.TableLockerOption{
		lock.WithTableLeaseDuration(migrateLease),
		lock.WithTableHeartbeatInterval(migrateLease / 5),
		lock.WithTableLockTimeout(migrateTick, uint64(max(1, l.keeper.wait/migrateTick))),
		lock.WithTableUnlockTimeout(migrateTick, 3),
		lock.WithTableRetryPolicy(l.again),
		lock.WithTableLogger(slog.New(slog.DiscardHandler)),
	}
}

// again says whether asking for the lock once more may help: when another
// process has it, or met this one. What the database refuses, it refuses again.
func (l *migrateLock) again(err error) bool {
	e := l.keeper.engine.ByCode(err)
	if e != nil && e.Class != engine.ClassConflict || e == nil && engine.IsConnection(err) {
		return false
	}
	if !l.held && l.waits%migrateTold == 0 {
		l.keeper.log.Info("waiting for another process that migrates this database; if it was killed, its lock runs out",
			"holder", l.holder(), "lease", migrateLease, "waited", time.Since(l.begun).Round(time.Second), "at_most", l.keeper.wait)
	}
	l.waits++
	return true
}

// holder names who has the lock, as HOST-PROCESS-NUMBER.
func (l *migrateLock) holder() string {
	ctx, cancel := context.WithTimeout(context.Background(), holderMax)
	defer cancel()
	return cmp.Or(l.keeper.migrating(ctx), "unknown")
}

// isMigrating says that another process migrates, or was killed while it did.
func (k *Keeper) isMigrating(ctx context.Context) bool {
	return k.engine.Migrating != nil && k.migrating(ctx) != ""
}

// migrating is who migrates, "" for nobody and where the database does not say.
func (k *Keeper) migrating(ctx context.Context) (holder string) {
	const question = `SELECT COALESCE(MAX(locked_by), '') FROM ` + lock.DefaultLockTableName + ` WHERE locked`
	if err := k.engine.Migrate.QueryRowContext(ctx, question).Scan(&holder); err != nil {
		return ""
	}
	return holder
}

// lockError says why the lock was not had.
func (l *migrateLock) lockError(ctx context.Context, err error) error {
	if e := l.keeper.engine.ByCode(err); e != nil && e.Class != engine.ClassConflict || ctx.Err() != nil || l.waits == 0 {
		return err
	}
	return draw.Wrap(draw.CodeStoreUnavailable, fmt.Errorf("%s has held the lock for %s", l.holder(), time.Since(l.begun).Round(time.Second)),
		"another process migrates this database; nothing was changed: run this again when it is done")
}
