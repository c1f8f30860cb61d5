package ledger

import (
	"context"
	"database/sql"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/fault"
	"drawsvc/internal/stock/engine"
)

// Clock estimates the database's clock. All instances follow that clock, so that an award
// of one instance does not appear older than an earlier award of another instance. If a
// reading of that clock has leapt, compared with the time since this machine started,
// Clock does not follow it until the leap has lasted for leapStands.
type Clock struct {
	engine *engine.Engine
	// machine, when set, is this machine's clock.
	machine func() time.Time
	// leapMax is the largest leap that Clock follows at once, 0 for any.
	leapMax time.Duration
	log     *slog.Logger
	last    atomic.Pointer[reading]
	// leap is the current leap, nil for none. mu is held while it changes.
	leap atomic.Pointer[leap]
	mu   sync.Mutex
}

// reading is what two clocks showed at one moment. The field here is the time since this
// machine started, and the field there is the database's time.
type reading struct {
	here  time.Duration
	there time.Time
}

// at returns the database's time at a given time since this machine started.
func (r *reading) at(here time.Duration) time.Time { return r.there.Add(here - r.here) }

// leap is a difference between the database's clock and the estimate.
type leap struct {
	since time.Duration // by the same clock as here
	by    time.Duration
}

// leapStands is how long a leap must last before Clock follows it.
const leapStands = 5 * time.Minute

// judge compares a reading with the estimate, and reports whether Clock follows the
// reading. It follows the first one. If the clock leaps again during a leap, the time
// that a leap must last starts again. Only take ends a leap.
func (c *Clock) judge(r reading) bool {
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
	if stands == nil || (by-stands.by).Abs() > c.leapMax {
		stands = &leap{since: r.here, by: by}
		c.leap.Store(stands)
		c.log.Error("the database's clock has leapt: pools with rules or an agenda give no new draws until it is right, stands for five minutes or is accepted",
			"by", by.Round(time.Second), "estimate", last.at(r.here).UTC(), "clock", r.there.UTC())
	}
	return r.here-stands.since >= leapStands
}

// take passes a reading to judge, and follows it if judge returns true.
func (c *Clock) take(r reading) {
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

// Now estimates the database's time without a query. Between two readings it follows the
// time since this machine started, so that setting a clock does not change it. On SQLite
// it estimates this machine's time in the same way.
func (c *Clock) Now() time.Time {
	here := sinceStart()
	if c.engine.Clock == "" {
		c.take(reading{here: here, there: c.machineTime()}) // SQLite uses this machine's clock
	}
	//double:own-clocks c.last.Load().at(here) => fault.Moved(time.Now())
	return c.last.Load().at(here)
}

// machineTime returns the time of this machine's clock.
func (c *Clock) machineTime() time.Time {
	if c.machine != nil {
		return c.machine()
	}
	return fault.Moved(time.Now()).Round(0)
}

// ClockLeapt returns an error if the database's clock has leapt, and nil otherwise. After
// a leap, pools with rules or an agenda give no new draws. Error: CodeClockLeapt.
func (c *Clock) ClockLeapt() error {
	leap := c.leap.Load()
	if leap == nil {
		return nil
	}
	return draw.Errorf(draw.CodeClockLeapt, "the database's clock has leapt by %s; new draws go on when it is right, or after five minutes", leap.by.Round(time.Second))
}

// ClockLeap returns by how much the database's clock has leapt, 0 if no leap lasts now.
func (c *Clock) ClockLeap() time.Duration {
	if leap := c.leap.Load(); leap != nil {
		return leap.by
	}
	return 0
}

// AcceptClock accepts the database's current clock, and returns by how much it had
// leapt, 0 if there was no leap. Errors: those of the store.
func (c *Clock) AcceptClock(ctx context.Context) (by time.Duration, err error) {
	r, err := c.askClock(ctx)
	if err != nil {
		return 0, draw.Wrap(draw.CodeStoreUnavailable, err, "the database does not answer")
	}
	by = c.ClockLeap()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last.Store(r)
	c.leap.Store(nil)
	if by != 0 {
		c.log.Warn("the database's clock was accepted", "by", by.Round(time.Second), "clock", r.there.UTC())
	}
	return by, nil
}

const (
	// clockQuestions is the maximum number of queries for one reading. The first query
	// may have to connect, so they are repeated until one takes less than clockNear.
	clockQuestions = 3
	clockNear      = 2 * time.Millisecond
)

// ReadClock reads the database's clock, and follows the reading unless it has leapt.
func (c *Clock) ReadClock(ctx context.Context) error {
	r, err := c.askClock(ctx)
	if err == nil {
		c.take(*r)
	}
	return err
}

// askClock reads the database's clock. It assumes that the clock was read in the middle
// of the shortest query.
func (c *Clock) askClock(ctx context.Context) (*reading, error) {
	if c.engine.Clock == "" {
		return &reading{here: sinceStart(), there: c.machineTime()}, nil
	}
	var best *reading
	shortest := time.Duration(math.MaxInt64)
	for n := 0; n < clockQuestions && shortest > clockNear; n++ {
		asked := sinceStart()
		there, err := c.DatabaseTime(ctx, c.engine.Probe)
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
	// watchEvery is the interval of WatchClock's ticks. WatchClock reads the clock at
	// every clockEvery-th tick, and at every tick during a leap. clockMax bounds a
	// reading.
	watchEvery = time.Second
	clockEvery = 10
	clockMax   = 5 * time.Second
)

// WatchClock reads the clock about every ten seconds until the database is closed. Call
// it once, before others use the clock.
func (c *Clock) WatchClock() {
	n := 0
	c.engine.WhileOpen(watchEvery, func(ctx context.Context) {
		if n%clockEvery == 0 || c.ClockLeap() != 0 {
			reading, end := context.WithTimeout(ctx, clockMax)
			defer end()
			_ = c.ReadClock(reading) // without a reading, the last estimate remains
		}
		n++
	})
}

// newClock returns a clock with a first reading. If the database has no clock or does not
// answer, the first reading is this machine's time.
func newClock(ctx context.Context, e *engine.Engine, leapMax time.Duration, machine func() time.Time, log *slog.Logger) *Clock {
	c := &Clock{engine: e, machine: machine, leapMax: leapMax, log: log}
	r, err := c.askClock(ctx)
	if err != nil {
		r = &reading{here: sinceStart(), there: c.machineTime()}
	}
	c.last.Store(r)
	return c
}

// judged checks a time that the database returned while a pool's row was locked. It
// returns that time, or the estimate if the clock has leapt.
func (c *Clock) judged(there time.Time) time.Time {
	here := sinceStart()
	if !c.judge(reading{here, there}) {
		there = c.last.Load().at(here)
	}
	return there
}

// DatabaseTime reads the database's time, which all instances share. For an SQLite file
// it is the machine's time.
func (c *Clock) DatabaseTime(ctx context.Context, q engine.Querier) (time.Time, error) {
	if c.engine.Clock == "" {
		return c.Now().UTC().Truncate(time.Microsecond), nil
	}
	var t time.Time
	err := q.QueryRowContext(ctx, `SELECT `+c.engine.Clock).Scan(&t)
	return t.UTC(), err
}

// LockedTime returns the database's time for the rows that a transaction writes after it
// has locked its pool, or the estimate if the clock has leapt.
func (c *Clock) LockedTime(ctx context.Context, tx *sql.Tx) (time.Time, error) {
	there, err := c.DatabaseTime(ctx, tx)
	if err != nil {
		return there, err
	}
	//double:own-clocks c.judged(there) => fault.Moved(time.Now())
	return c.judged(there).UTC().Truncate(time.Microsecond), nil
}
