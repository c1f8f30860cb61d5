package gate

import (
	"context"

	"golang.org/x/sync/semaphore"

	"drawsvc/internal/access"
)

// Rank orders callers by what their tokens allow.
type Rank int

// The ranks, from the lowest one. Ranks is their number.
const (
	// RankDraw is that of callers without a token, and of the roles draw and metrics.
	RankDraw Rank = iota
	RankAuditor
	RankStock
	RankAdmin
	Ranks
)

// RankOf is that of a role.
func RankOf(r access.Role) Rank {
	switch r {
	case access.Auditor:
		return RankAuditor
	case access.Stock:
		return RankStock
	case access.Admin:
		return RankAdmin
	default:
		return RankDraw
	}
}

// Shares is a bound that callers of all ranks have in common. The callers of a rank
// and of all ranks below it together use at most the limit of that rank. So what is
// above a rank's limit remains for the ranks above it, however much it asks for.
type Shares struct {
	limits [Ranks]int64
	used   [Ranks]*semaphore.Weighted
}

// NewShares returns a bound by the limits of the ranks, which must not fall. A rank
// with limit 0 gets nothing.
func NewShares(limits [Ranks]int64) *Shares {
	//double:shares-bounds limits: limits => limits: [Ranks]int64{limits[Ranks-1], limits[Ranks-1], limits[Ranks-1], limits[Ranks-1]}
	s := &Shares{limits: limits}
	for i := range s.used {
		//double:shares-bounds limits[i] => limits[Ranks-1]
		s.used[i] = semaphore.NewWeighted(limits[i])
	}
	return s
}

// Try takes n places, or all of the rank's limit where n is above it, until done is
// called. It reports whether they are free.
func (s *Shares) Try(of Rank, n int64) (done func(), ok bool) {
	if n = min(n, s.limits[of]); n == 0 {
		return nil, false
	}
	for step := of; step < Ranks; step++ {
		if !s.used[step].TryAcquire(n) {
			s.release(of, step, n)
			return nil, false
		}
	}
	return func() { s.release(of, Ranks, n) }, true
}

// Wait takes one place until done is called, in the order of the callers of a rank.
// Errors are those of ctx.
func (s *Shares) Wait(ctx context.Context, of Rank) (done func(), err error) {
	if done, ok := s.Try(of, 1); ok { // also where ctx has ended
		return done, nil
	}
	for step := of; step < Ranks; step++ {
		if err := s.used[step].Acquire(ctx, 1); err != nil {
			s.release(of, step, 1)
			return nil, err
		}
	}
	return func() { s.release(of, Ranks, 1) }, nil
}

// Limit is the most places of a rank.
func (s *Shares) Limit(of Rank) int64 { return s.limits[of] }

// release gives n places back of the steps from one to another.
func (s *Shares) release(from, to Rank, n int64) {
	for step := from; step < to; step++ {
		s.used[step].Release(n)
	}
}
