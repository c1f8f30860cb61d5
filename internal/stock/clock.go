package stock

import (
	"cmp"
	"context"
	"database/sql"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
	"drawsvc/internal/stock/engine"
)

// clock estimates the database's: one clock for a fleet, so that an award of
// one instance is not a day older than that of another before it. A reading that
// has leapt against the time since this machine started is not followed.
type clock struct {
	// leapMax is the longest leap that is followed at once, 0 for any.
	leapMax time.Duration
	log     *slog.Logger
	last    atomic.Pointer[reading]
	// leap is the leap that stands, nil for none. mu is held while it changes.
	leap atomic.Pointer[leap]
	mu   sync.Mutex
}

// reading is what two clocks showed at one moment: here is the time since this
// machine started.
type reading struct {
	here  time.Duration
	there time.Time
}

// at is the time that follows from the reading at a moment here.
func (r *reading) at(here time.Duration) time.Time { return r.there.Add(here - r.here) }

// leap is a difference between the database's clock and the estimate.
type leap struct {
	since time.Duration // of the time here
	by    time.Duration
}

// poolsAheadMax is the maximum number of pools that PoolsAhead names.
const poolsAheadMax = 100

// leapStands is how long a leap must stand before the new time is taken to be right.
const leapStands = 5 * time.Minute

// judge compares a reading with the estimate, and reports whether it is one to go by.
// The first one is. Without a reading that it stands, a leap ends only by take.
func (c *clock) judge(r reading) bool {
	last := c.last.Load()
	if last == nil || c.leapMax == 0 {
		return true
	}
	by := r.there.Sub(last.at(r.here))
	if by.Abs() <= c.leapMax {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	stands := c.leap.Load()
	if stands == nil {
		stands = &leap{since: r.here, by: by}
		c.leap.Store(stands)
		c.log.Error("the database's clock has leapt: pools with rules or an agenda give no new draws until it is right, stands for five minutes or is accepted",
			"by", by.Round(time.Second), "estimate", last.at(r.here).UTC(), "clock", r.there.UTC())
	}
	return r.here-stands.since >= leapStands
}

// take judges a reading, and goes by it from then on if it is one to go by.
func (c *clock) take(r reading) {
	if !c.judge(r) {
		return
	}
	c.last.Store(&r)
	if c.leap.Load() == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leap.Swap(nil) != nil {
		c.log.Warn("the database's clock is followed again", "clock", r.there.UTC())
	}
}

// Now estimates the database's time, without asking it. Between two readings
// it goes by the time since this machine started, so that it does not follow a clock
// that is set. On SQLite it is this machine's time, with the same care.
func (s *Store) Now() time.Time {
	here := sinceStart()
	if s.engine.Clock == "" {
		s.readMachine(here)
	}
	return s.clock.last.Load().at(here)
}

// readMachine takes a reading of this machine's clock, which is SQLite's.
func (s *Store) readMachine(here time.Duration) {
	s.clock.take(reading{here: here, there: s.machineTime()})
}

// machineTime is what this machine's clock shows.
func (s *Store) machineTime() time.Time {
	if s.options.Machine != nil {
		return s.options.Machine()
	}
	return fault.Moved(time.Now()).Round(0)
}

// ClockLeapt returns why pools with rules or an agenda give no new draws: the
// database's clock has leapt. It is nil while it has not. Error: CodeClockLeapt.
func (s *Store) ClockLeapt() error {
	leap := s.clock.leap.Load()
	if leap == nil {
		return nil
	}
	return draw.Errorf(draw.CodeClockLeapt, "the database's clock has leapt by %s; new draws go on when it is right, or after five minutes", leap.by.Round(time.Second))
}

// ClockLeap is by how much the database's clock has leapt, 0 for no leap that stands.
func (s *Store) ClockLeap() time.Duration {
	if leap := s.clock.leap.Load(); leap != nil {
		return leap.by
	}
	return 0
}

// AcceptClock goes by the database's clock as it is now, and returns by how much it
// had leapt, 0 where no leap stood. Errors: those of the store.
func (s *Store) AcceptClock(ctx context.Context) (by time.Duration, err error) {
	r, err := s.askClock(ctx)
	if err != nil {
		return 0, draw.Wrap(draw.CodeStoreUnavailable, err, "the database does not answer")
	}
	by = s.ClockLeap()
	s.clock.mu.Lock()
	defer s.clock.mu.Unlock()
	s.clock.last.Store(r)
	s.clock.leap.Store(nil)
	if by != 0 {
		s.options.Log.Warn("the database's clock was accepted", "by", by.Round(time.Second), "clock", r.there.UTC())
	}
	return by, nil
}

const (
	// clockQuestions is how often the clock is asked for one reading, until an
	// answer comes within clockNear: the first question may have to connect.
	clockQuestions = 3
	clockNear      = 2 * time.Millisecond
)

// readClock reads the database's clock, and goes by it unless it has leapt.
func (s *Store) readClock(ctx context.Context) error {
	r, err := s.askClock(ctx)
	if err == nil {
		s.clock.take(*r)
	}
	return err
}

// askClock reads the database's clock. The moment that it showed its time is
// taken to be the middle of the shortest question's.
func (s *Store) askClock(ctx context.Context) (*reading, error) {
	if s.engine.Clock == "" {
		return &reading{here: sinceStart(), there: s.machineTime()}, nil
	}
	var best *reading
	shortest := time.Duration(math.MaxInt64)
	for n := 0; n < clockQuestions && shortest > clockNear; n++ {
		asked := sinceStart()
		there, err := s.databaseTime(ctx, s.engine.Probe)
		if err != nil {
			return nil, err
		}
		if took := sinceStart() - asked; took < shortest {
			best, shortest = &reading{here: asked + took/2, there: there}, took
		}
	}
	return best, nil
}

const (
	// watchEvery is how often WatchClock looks whether the clock is to be read: after
	// every clockEvery looks, and at each while a leap stands. clockMax bounds a reading.
	watchEvery = time.Second
	clockEvery = 10
	clockMax   = 5 * time.Second
)

// WatchSchema has the schema checked about once a second, and the database's clock
// read about every ten seconds, until the store is closed. It is called once, before
// the store is used by others.
func (s *Store) WatchSchema() {
	s.Watch()
	n := 0
	s.engine.WhileOpen(watchEvery, func(ctx context.Context) {
		if n%clockEvery == 0 || s.ClockLeap() != 0 {
			reading, end := context.WithTimeout(ctx, clockMax)
			defer end()
			_ = s.readClock(reading) // without an answer the last estimate holds
		}
		n++
	})
}

// beginClock takes the first reading: this machine's time, where the database says none.
func (s *Store) beginClock(ctx context.Context) {
	s.clock.leapMax, s.clock.log = s.options.ClockLeap, cmp.Or(s.options.Log, slog.Default())
	r, err := s.askClock(ctx)
	if err != nil {
		r = &reading{here: sinceStart(), there: s.machineTime()}
	}
	s.clock.last.Store(r)
}

// PoolsAhead returns, in order of their ids, at most 100 pools that are not closed and
// whose last entry is ahead of the clock by more than the given time: what goes by time
// waits there until the clock is there too. Errors: those of the store.
func (s *Store) PoolsAhead(ctx context.Context, by time.Duration) (ids []string, err error) {
	latest := s.engine.Time(s.Now().Add(by).UTC())
	query := s.selectFrom("pools", "id").Where(squirrel.Gt{"at": latest}).
		Where(squirrel.NotEq{"state": string(draw.StateClosed)}).OrderBy("id").Limit(poolsAheadMax)
	err = s.snapshot(ctx, func(tx *sql.Tx) error {
		ids, err = selectAll(ctx, tx, query, func(row engine.Scanner) (id string, err error) {
			return id, row.Scan(&id)
		})
		return err
	})
	return ids, err
}
