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
	// trialEvery is the interval at which a service tries a trial write while the
	// database accepts no writes, trialMax the maximum time of such a write.
	trialEvery = time.Second
	trialMax   = 2 * time.Second
)

// WatchWrites tries a write about once a second after the database has refused one
// because of its disk, or because it is read-only, until a write succeeds. It does so
// until the store is closed, and is called once, before the store is used by others.
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

// A trial writes trialRows rows of trialKey characters. That is more than may fit in
// pages that the database already has, so that the trial needs space on the disk, as a
// draw does.
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
		_ = l.Once(ctx, func(tx *sql.Tx) error { return l.removeTrials(ctx, tx) }) // if it cannot, the next trial does
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
