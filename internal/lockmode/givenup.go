package lockmode

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/group"
	"drawsvc/internal/repeats"
)

// givenUpEvery is the interval at which the log states sums of the batches that were
// given up.
const givenUpEvery = time.Second

// givenUpPoolsMax is the maximum number of pools that are counted in one sum.
const givenUpPoolsMax = 1000

// givenUp logs batches that could not be decided. The first batch of a reason is logged
// with its pool and requests. Later ones are logged as sums, one line a second. The end
// of the series is logged as one line. The series has ended when no batch was given up
// for a second and another batch was decided.
type givenUp struct {
	log   *slog.Logger
	every time.Duration
	kinds repeats.Counter[string, gaveUp]

	// isOpen means that a series has begun and not ended.
	isOpen atomic.Bool

	mu sync.Mutex
	// began is when the first batch of the series was given up, last is when the last
	// one was.
	began, last time.Time
	// batches and draws count what was given up in the series. decided means that a batch
	// was decided after the last of these. ticks means that a sum is scheduled.
	batches, draws int
	decided, ticks bool
}

// gaveUp counts batches of one reason.
type gaveUp struct {
	batches, draws int
	pools          map[string]bool
}

func newGivenUp(log *slog.Logger) *givenUp { return &givenUp{log: log, every: givenUpEvery} }

// note logs or counts a batch that is given up. A log line names no key and no user.
func (g *givenUp) note(mode string, b *group.Batch, err error) {
	pool, draws := b.Urn.PoolID, b.Draws()
	isFirst := g.kinds.Note(failureOf(err), func(c *gaveUp) {
		c.batches++
		c.draws += draws
		if c.pools == nil {
			c.pools = map[string]bool{}
		}
		if len(c.pools) < givenUpPoolsMax {
			c.pools[pool] = true
		}
	})
	g.mu.Lock()
	if g.isOpen.CompareAndSwap(false, true) {
		g.began = time.Now()
	}
	g.last, g.decided = time.Now(), false
	g.batches++
	g.draws += draws
	g.tick()
	g.mu.Unlock()
	if isFirst {
		g.log.WarnContext(b.Context(), "batch given up", "mode", mode, "pool", pool, "draws", draws, "requests", b.RequestIDs(namesMax), "error", err)
	}
}

// noteDecided records that a batch was decided.
func (g *givenUp) noteDecided() {
	if !g.isOpen.Load() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.decided {
		g.decided = true
		g.tick()
	}
}

// tick schedules the next sum. mu is held.
func (g *givenUp) tick() {
	if !g.ticks {
		g.ticks = true
		time.AfterFunc(g.every, g.sumUp)
	}
}

// sumUp logs the counts since the last sum, or the end of the series.
func (g *givenUp) sumUp() {
	var all gaveUp
	pools, reasons := map[string]bool{}, map[string]int{}
	for reason, c := range g.kinds.Take(func(c *gaveUp) bool { return c.batches > 0 }) {
		all.batches += c.batches
		all.draws += c.draws
		reasons[reason] = c.batches
		for pool := range c.pools {
			pools[pool] = true
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ticks = false
	ctx := context.Background()
	switch {
	case all.batches > 0:
		g.log.WarnContext(ctx, "batches given up", "batches", all.batches, "draws", all.draws, "pools", len(pools), "reasons", reasons)
		g.tick()
	case time.Since(g.last) < g.every:
		g.tick()
	case g.decided:
		g.log.InfoContext(ctx, "batches are decided again", "seconds", g.last.Sub(g.began).Seconds(), "batches", g.batches, "draws", g.draws)
		g.batches, g.draws = 0, 0
		g.isOpen.Store(false)
	}
}
