package stock

import (
	"context"
	"sync/atomic"
	"time"
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
		return time.Now()
	}
	return r.there.Add(time.Since(r.here))
}

// readClock reads the database's clock. The moment that it showed its time is
// taken to be the middle of the question's.
func (s *Store) readClock(ctx context.Context) error {
	if s.engine.Clock == "" {
		return nil
	}
	asked := time.Now()
	there, err := s.databaseTime(ctx, s.engine.Probe)
	if err != nil {
		return err
	}
	s.clock.last.Store(&reading{here: asked.Add(time.Since(asked) / 2), there: there})
	return nil
}
