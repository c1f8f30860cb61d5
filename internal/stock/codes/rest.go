package codes

import (
	"context"
	"database/sql"
	"time"

	"drawsvc/internal/stock/ledger"
)

const (
	// restFactor is how many times as long as a part an import rests after it, if pools
	// have changed meanwhile.
	restFactor = 3
	// restMax is the longest rest.
	restMax = 5 * time.Second
	// restShare is the share of the time that an import has to spare before a caller's
	// deadline that all its rests may take together.
	restShare = 0.3
	// partMargin is how many times as long as the slowest part the next parts may take.
	partMargin = 1.2
)

// rests are the times between the parts of an import in which it leaves the database to
// the draws. An import does not rest while nobody draws.
type rests struct {
	register *Register
	// versions is the sum of the pools' versions when it was last read. Every draw
	// increases it.
	versions int64
	// slowest is the time that the slowest part took.
	slowest time.Duration
}

// begin reads the versions before the first part. If that fails, the first part counts as
// one beside draws.
func (s *rests) begin(ctx context.Context, r *Register) {
	s.register = r
	s.versions, _ = s.read(ctx)
}

func (s *rests) read(ctx context.Context) (versions int64, err error) {
	err = s.register.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		found, err := ledger.SelectAll(ctx, tx, s.register.ledger.SelectFrom("pools", "COALESCE(SUM(version), 0)"), ledger.ScanInt)
		if err == nil {
			versions = found[0]
		}
		return err
	})
	return versions, err
}

// rest rests after a part that took some time, if pools have changed since the last
// part. left is the number of lines that are still to be checked or written. If the
// versions cannot be read, it does not rest, because the read decides nothing else. The
// next part reports the end of ctx.
func (s *rests) rest(ctx context.Context, took time.Duration, left int) {
	if left == 0 {
		return
	}
	s.slowest = max(s.slowest, took)
	if versions, err := s.read(ctx); err == nil && versions != s.versions {
		s.versions = versions
		s.register.pause(ctx, restAfter(ctx, took, s.slowest, left))
	}
}

// restAfter returns how long to rest after a part. The rests before a deadline leave time
// for the parts that follow.
func restAfter(ctx context.Context, took, slowest time.Duration, left int) time.Duration {
	rest := min(took*restFactor, restMax)
	if deadline, has := ctx.Deadline(); has {
		parts := float64((left + partMax - 1) / partMax)
		spare := float64(time.Until(deadline)) - parts*partMargin*float64(slowest)
		rest = min(rest, time.Duration(restShare*spare/parts))
	}
	return max(rest, 0)
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
