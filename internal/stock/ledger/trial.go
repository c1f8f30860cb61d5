package ledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

const (
	// trialEvery is the interval of trial writes while the database accepts no writes.
	// trialMax is the maximum time of a trial write.
	trialEvery = time.Second
	trialMax   = 2 * time.Second
)

// WatchWrites watches until the store is closed. After the database has refused a write
// because of its disk, or because it is read-only, it tries a write about once a second
// until one succeeds. Call it once, before others use the store.
func (l *Ledger) WatchWrites() {
	l.Engine.WhileOpen(trialEvery, func(ctx context.Context) {
		if l.WriteRefusal() == "" {
			return
		}
		trial, end := context.WithTimeout(ctx, trialMax)
		defer end()
		l.tryWrite(trial)
	})
}

// A trial writes trialRows rows of trialKey characters. They may not fit into the pages
// that the database already has, so the trial needs space on the disk, as a draw does.
const (
	trialRows   = 256
	trialKey    = 128
	trialPrefix = "trial:"
)

// tryWrite finds out whether the database accepts writes again: it writes and commits
// rows that nobody reads, and removes them.
func (l *Ledger) tryWrite(ctx context.Context) {
	err := l.Once(ctx, func(tx *sql.Tx) error { return l.insertTrial(ctx, tx) })
	l.Engine.Observe(err)
	switch refusal := l.writeRefusal(err); {
	case err == nil:
		l.refusal.Store(nil)
		_ = l.Once(ctx, func(tx *sql.Tx) error { return l.removeTrials(ctx, tx) }) // if this fails, the next trial removes them
	case refusal != nil:
		l.refusal.Store(refusal)
	case engine.ClassOf(err) == engine.ClassOther && draw.CodeOf(err) == draw.CodeInternal: // the write was executed, and failed for another reason
		l.refusal.Store(nil)
	}
}

func (l *Ledger) insertTrial(ctx context.Context, tx *sql.Tx) error {
	name := trialPrefix + rand.Text() + ":"
	insert := l.InsertInto("lock_tokens").Columns("key_id", "token")
	for i := range trialRows {
		insert = insert.Values(fmt.Sprintf("%s%0*d", name, trialKey-len(name), i), 1)
	}
	_, err := insert.RunWith(tx).ExecContext(ctx)
	return err
}

func (l *Ledger) removeTrials(ctx context.Context, tx *sql.Tx) error {
	_, err := l.Builder().Delete("lock_tokens").Where(squirrel.Like{"key_id": trialPrefix + "%"}).RunWith(tx).ExecContext(ctx)
	return err
}
