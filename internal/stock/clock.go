package stock

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"drawsvc/internal/fault"
)

// clock estimates the database's: one clock for a fleet, so that an award of
// one instance is not a day older than that of another before it.
type clock struct{ last atomic.Pointer[reading] }

// reading is what two clocks showed at one moment.
type reading struct{ here, there time.Time }

// Now estimates the database's time, without asking it. Between two readings
// it goes by this machine's monotonic clock, so that it does not follow a clock
// that is set. On SQLite it is this machine's time.
func (s *Store) Now() time.Time {
	r := s.clock.last.Load()
	if r == nil {
		return fault.Moved(time.Now())
	}
	return r.there.Add(time.Since(r.here))
}

const (
	// clockQuestions is how often the clock is asked for one reading, until an
	// answer comes within clockNear: the first question may have to connect.
	clockQuestions = 3
	clockNear      = 2 * time.Millisecond
)

// readClock reads the database's clock. The moment that it showed its time is
// taken to be the middle of the shortest question's.
func (s *Store) readClock(ctx context.Context) error {
	if s.engine.Clock == "" {
		return nil
	}
	var best *reading
	shortest := time.Duration(math.MaxInt64)
	for n := 0; n < clockQuestions && shortest > clockNear; n++ {
		asked := time.Now()
		there, err := s.databaseTime(ctx, s.engine.Probe)
		if err != nil {
			return err
		}
		if took := time.Since(asked); took < shortest {
			best, shortest = &reading{here: asked.Add(took / 2), there: there}, took
		}
	}
	s.clock.last.Store(best)
	return nil
}
