package lockmode

import (
	"time"

	"drawsvc/internal/stock"
)

// policy bounds the attempts at a batch. It knows nothing of batches and
// databases: what to do next follows from how the last attempt ended and from
// what was spent.
type policy struct {
	// attempts and budget bound what is repeated, whichever ends first.
	attempts int
	budget   time.Duration
	// lockLast has the last attempts wait for the pool's row and hold it, so
	// that whoever came too late so often gets a turn.
	lockLast bool
}

const (
	// attemptsMax bounds the attempts of modes that wait for a lock, where a
	// conflict is the exception.
	attemptsMax = 10
	// unavailableMax bounds the attempts at a database that does not answer: a
	// second one finds out whether just one connection was dead.
	unavailableMax = 3
	// lockedMax bounds the attempts that hold the pool's row where attempts are
	// made without it before: one that waited for the row in vain is repeated.
	lockedMax = 2
	// knownKeysMax bounds the attempts that met a known key: one finds the key
	// in the log, and a second one a key that came into it meanwhile.
	knownKeysMax = 3
	// duesMax bounds the attempts that met items of the agenda, of which each
	// does as many as a transaction takes. Their time is bounded by the budget.
	duesMax = 200
)

// spent is what a batch has cost so far.
type spent struct {
	// attempts are those that count: the ones that met a known key do not,
	// because their keys are found at the next, nor do those that did items of
	// the agenda.
	attempts, unavailable, knownKeys, dues int
	elapsed                                time.Duration
	// inDoubt says that a write of the batch may have been committed.
	inDoubt bool
	// locked counts the attempts that waited for the pool's row, where those
	// before them did not.
	locked int
}

// add counts an attempt that ended in the class.
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

// verdict is what to do after an attempt.
type verdict int

const (
	// giveUp: the batch cannot be decided.
	giveUp verdict = iota
	// retryNow: what the last attempt lacked can be had at once.
	retryNow
	// retryLater: wait, so that those who collided do not meet again.
	retryLater
	// retryLocked: wait for the pool's row, and hold it.
	retryLocked
)

// next says what follows an attempt that ended in the class.
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
	case s.inDoubt: // worth more attempts: somebody may have won
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
