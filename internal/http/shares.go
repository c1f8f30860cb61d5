package http

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// rank orders callers by what their tokens allow.
type rank int

const (
	// rankDraw is that of callers without a token, and of the roles draw and metrics.
	rankDraw rank = iota
	rankAuditor
	rankStock
	rankAdmin
	ranks
)

// rank is that of the call's token.
func (c call) rank() rank {
	switch c.caller.Role {
	case roleAuditor:
		return rankAuditor
	case roleStock:
		return rankStock
	case roleAdmin:
		return rankAdmin
	default:
		return rankDraw
	}
}

// shares is a bound that callers of all ranks have in common. The callers of a rank
// and of all ranks below it together use at most the limit of that rank. So what is
// above a rank's limit remains for the ranks above it, however much it asks for.
type shares struct {
	limits [ranks]int64
	used   [ranks]*semaphore.Weighted
}

// newShares returns a bound by the limits of the ranks, which must not fall. A rank
// with limit 0 gets nothing.
func newShares(limits [ranks]int64) *shares {
	//double:shares-bounds limits: limits => limits: [ranks]int64{limits[ranks-1], limits[ranks-1], limits[ranks-1], limits[ranks-1]}
	s := &shares{limits: limits}
	for i := range s.used {
		//double:shares-bounds limits[i] => limits[ranks-1]
		s.used[i] = semaphore.NewWeighted(limits[i])
	}
	return s
}

// try takes n places, or all of the rank's limit where n is above it, until done is
// called. It reports whether they are free.
func (s *shares) try(of rank, n int64) (done func(), ok bool) {
	if n = min(n, s.limits[of]); n == 0 {
		return nil, false
	}
	for step := of; step < ranks; step++ {
		if !s.used[step].TryAcquire(n) {
			s.release(of, step, n)
			return nil, false
		}
	}
	return func() { s.release(of, ranks, n) }, true
}

// wait takes one place until done is called, in the order of the callers of a rank.
// Errors are those of ctx.
func (s *shares) wait(ctx context.Context, of rank) (done func(), err error) {
	if done, ok := s.try(of, 1); ok { // also where ctx has ended
		return done, nil
	}
	for step := of; step < ranks; step++ {
		if err := s.used[step].Acquire(ctx, 1); err != nil {
			s.release(of, step, 1)
			return nil, err
		}
	}
	return func() { s.release(of, ranks, 1) }, nil
}

// release gives n places back of the steps from one to another.
func (s *shares) release(from, to rank, n int64) {
	for step := from; step < to; step++ {
		s.used[step].Release(n)
	}
}
