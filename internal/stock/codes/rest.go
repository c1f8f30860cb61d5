package codes

import (
	"context"
	"database/sql"
	"time"

	"drawsvc/internal/stock/ledger"
)

const (
	// restFactor is the ratio of the rest after a part to the time of the part, if pools
	// have changed during the part.
	restFactor = 3
	// restMax is the longest rest.
	restMax = 5 * time.Second
	// restShare is the part of an import's spare time that all its rests together may
	// take. The spare time is the time until the caller's deadline, minus the expected
	// time of the remaining work.
	restShare = 0.3
	// partMargin is the ratio of the time that is reserved for a further part to the time
	// of the slowest part so far.
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

// begin reads the versions before the first part. If that fails, the first part is
// treated as if pools had been drawn from meanwhile.
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

// rest rests after a part that took some time, if pools have changed since the last part.
// left is the number of lines that are still to be checked or written. If the versions
// cannot be read, it does not rest. It ignores the error, because it uses the versions
// for nothing else. If ctx has ended, the next part reports that.
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

// pause waits for a duration, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
