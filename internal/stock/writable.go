package stock

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// writability is why the database takes no writes; nil as long as it takes them, and
// while nobody has written.
type writability struct{ refusal atomic.Pointer[engine.Error] }

// observe takes in the error of what was read or written for a draw or a change.
func (s *Store) observe(err error) {
	s.engine.Observe(err)
	if refusal := s.writeRefusal(err); refusal != nil {
		s.writability.refusal.CompareAndSwap(nil, refusal)
	}
}

// writeRefusal is the error of a database that takes no writes, nil for every other
// one. What failed at COMMIT is in doubt, and tells all the same why it failed.
func (s *Store) writeRefusal(err error) *engine.Error {
	said, ok := errors.AsType[*engine.Error](err)
	if ok && said.Class == ClassUnknown {
		said, ok = errors.AsType[*engine.Error](engine.Classify(said.Err, s.engine.ByCode))
	}
	if !ok || !said.RefusesWrites() {
		return nil
	}
	return said
}

// CheckWritable reports whether the database takes writes, as far as the last ones
// say. It asks nobody: see [Store.WatchWrites]. Error: CodeStoreUnavailable.
func (s *Store) CheckWritable() error {
	if refusal := s.writability.refusal.Load(); refusal != nil {
		return draw.Wrap(draw.CodeStoreUnavailable, refusal, "%s", refusal.Sentence())
	}
	return nil
}

// WriteRefusal is the reason for which the database takes no writes, one of
// [engine.WriteRefusals], "" while it takes them.
func (s *Store) WriteRefusal() string {
	if refusal := s.writability.refusal.Load(); refusal != nil {
		return refusal.Reason
	}
	return ""
}

const (
	// trialEvery is how often a service tries a write of its own while the database
	// takes none, trialMax the longest that one may take.
	trialEvery = time.Second
	trialMax   = 2 * time.Second
)

// WatchWrites has a write tried about once a second from the first one on that the
// database refused for its disk, or because it is read-only, until one works. It does
// so until the store is closed, and is called once, before the store is used by others.
func (s *Store) WatchWrites() {
	s.engine.WhileOpen(trialEvery, func(ctx context.Context) {
		if s.WriteRefusal() == "" {
			return
		}
		trial, end := context.WithTimeout(ctx, trialMax)
		defer end()
		s.tryWrite(trial)
	})
}

// trialRows rows of trialKey characters are what a trial writes: more than there may
// be room for in pages that the database has already, so that it needs what a draw
// needs, a place on the disk.
const (
	trialRows   = 256
	trialKey    = 128
	trialPrefix = "trial:"
)

// tryWrite finds out whether the database takes writes again: it writes and commits
// rows that nobody reads, and removes them.
func (s *Store) tryWrite(ctx context.Context) {
	err := s.once(ctx, func(tx *sql.Tx) error { return s.insertTrial(ctx, tx) })
	s.engine.Observe(err)
	switch refusal := s.writeRefusal(err); {
	case err == nil:
		s.writability.refusal.Store(nil)
		_ = s.once(ctx, func(tx *sql.Tx) error { return s.removeTrials(ctx, tx) }) // where it cannot, the next trial does
	case refusal != nil:
		s.writability.refusal.Store(refusal)
	case ClassOf(err) == ClassOther && draw.CodeOf(err) == draw.CodeInternal: // it was executed, and failed for another cause
		s.writability.refusal.Store(nil)
	}
}

func (s *Store) insertTrial(ctx context.Context, tx *sql.Tx) error {
	name := trialPrefix + rand.Text() + ":"
	insert := s.insertInto("lock_tokens").Columns("key_id", "token")
	for i := range trialRows {
		insert = insert.Values(fmt.Sprintf("%s%0*d", name, trialKey-len(name), i), 1)
	}
	_, err := insert.RunWith(tx).ExecContext(ctx)
	return err
}

func (s *Store) removeTrials(ctx context.Context, tx *sql.Tx) error {
	_, err := s.builder().Delete("lock_tokens").Where(squirrel.Like{"key_id": trialPrefix + "%"}).RunWith(tx).ExecContext(ctx)
	return err
}
