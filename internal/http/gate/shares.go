package gate

import (
	"context"

	"golang.org/x/sync/semaphore"

	"drawsvc/internal/access"
)

// Rank orders callers by the rights of their tokens.
type Rank int

// The ranks, from the lowest one. Ranks is their number.
const (
	// RankDraw is the rank of callers without a token, and of the roles draw and
	// metrics.
	RankDraw Rank = iota
	RankAuditor
	RankStock
	RankAdmin
	Ranks
)

// RankOf returns the rank of a role.
func RankOf(r access.Role) Rank {
	switch r {
	case access.Auditor:
		return RankAuditor
	case access.Stock, access.Fulfil:
		return RankStock
	case access.Admin:
		return RankAdmin
	default:
		return RankDraw
	}
}

// Shares is a bound that callers of all ranks share. The callers of a rank and of all
// lower ranks together use at most the limit of that rank. So the places above a rank's
// limit remain for higher ranks, however many calls the rank makes.
type Shares struct {
	limits [Ranks]int64
	used   [Ranks]*semaphore.Weighted
}

// NewShares returns a bound by the limits of the ranks, which must not decrease. A rank
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

// Try takes n places, or all of the rank's limit if n exceeds it, until done is called.
// It reports whether they are free.
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

// Wait takes one place until done is called; callers of a rank are served in order.
// Errors are those of ctx.
func (s *Shares) Wait(ctx context.Context, of Rank) (done func(), err error) {
	if done, ok := s.Try(of, 1); ok { // even if ctx has ended
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

// Limit returns the maximum number of places of a rank.
func (s *Shares) Limit(of Rank) int64 { return s.limits[of] }

// release gives back n places at each rank r with from ≤ r < to.
func (s *Shares) release(from, to Rank, n int64) {
	for step := from; step < to; step++ {
		s.used[step].Release(n)
	}
}
