package lockmode

import (
	"context"
	"math/rand/v2"
	"time"

	"drawsvc/internal/stock"
)

// policy bounds the attempts at a batch. It does not depend on batches or databases: the
// next action follows only from the result of the last attempt, and from the attempts and
// the time already used.
type policy struct {
	// attempts and budget bound the retries; whichever ends first applies.
	attempts int
	budget   time.Duration
	// lockLast means that the last attempts wait for the pool's row and hold it, so
	// that a batch that lost repeatedly gets a turn.
	lockLast bool
}

const (
	// attemptsMax bounds the attempts of modes that wait for a lock, where conflicts
	// are rare.
	attemptsMax = 10
	// unavailableMax bounds the attempts at a database that does not answer. The later
	// ones show whether only one connection was broken.
	unavailableMax = 3
	// lockedMax bounds the attempts that hold the pool's row, in modes whose earlier
	// attempts do not hold it. If such an attempt did not get the row, it is repeated.
	lockedMax = 2
	// knownKeysMax bounds the attempts that met a known key: the first finds the key in
	// the log, and the second a key that was added since.
	knownKeysMax = 3
	// duesMax bounds the attempts that met due items of the agenda. Each of them carries
	// out as many items as fit in a transaction. The budget bounds their time.
	duesMax = 200
)

// spent holds the attempts and the time that a batch has used so far.
type spent struct {
	// attempts counts the attempts. It leaves out those that met a known key, because the
	// next attempt finds that key, and those that carried out items of the agenda.
	attempts, unavailable, knownKeys, dues int
	elapsed                                time.Duration
	// inDoubt means that a write of the batch may have been committed.
	inDoubt bool
	// locked counts the attempts that waited for the pool's row, in modes whose earlier
	// attempts do not.
	locked int
}

// add counts an attempt that ended with the class.
func (s *spent) add(class stock.Class) {
	switch class {
	case stock.ClassKnownKey:
		s.knownKeys++
		return
	case stock.ClassDue:
		s.dues++
		return
	default:
	}
	if class == stock.ClassUnavailable {
		s.unavailable++
	}
	s.attempts++
}

// verdict is the next action after an attempt.
type verdict int

const (
	// giveUp means that the batch cannot be decided.
	giveUp verdict = iota
	// retryNow means that another attempt can succeed at once.
	retryNow
	// retryLater means to wait, so that attempts that collided do not meet again.
	retryLater
	// retryLocked means to wait for the pool's row and hold it.
	retryLocked
)

// next returns the next action after an attempt that ended with the class.
func (p policy) next(class stock.Class, s spent) verdict {
	switch class {
	case stock.ClassConflict, stock.ClassUnavailable, stock.ClassKnownKey:
	case stock.ClassDue:
		if s.dues < duesMax && (s.inDoubt || s.elapsed < p.budget) {
			return retryNow
		}
		return giveUp
	case stock.ClassUnknown:
		if !s.inDoubt {
			return giveUp
		}
	default:
		return giveUp
	}
	switch {
	case s.inDoubt: // is worth more attempts, because a draw may have been made
		return retryLater
	case class == stock.ClassKnownKey && s.knownKeys < knownKeysMax:
		return retryNow
	case s.unavailable >= unavailableMax:
		return giveUp
	case s.attempts >= p.attempts:
		return giveUp
	case p.lockLast && s.locked < lockedMax && (s.elapsed >= p.budget || s.attempts >= p.attempts-lockedMax):
		return retryLocked
	case s.elapsed >= p.budget:
		return giveUp
	}
	return retryLater
}

const (
	backoffMin = time.Millisecond
	backoffMax = 50 * time.Millisecond
)

// backoff waits before attempt n+1, or until ctx ends. The wait is random, so that
// attempts that collided do not collide again. Its maximum doubles with each attempt.
// This is "full jitter" of Marc Brooker, "Exponential Backoff And Jitter", 2015.
func backoff(ctx context.Context, n int) {
	bound := min(backoffMax, backoffMin<<min(n, 10))
	timer := time.NewTimer(rand.N(bound))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
