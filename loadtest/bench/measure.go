package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

// refusedMax is the maximum share of requests that may be unanswered, or answered busy,
// in a valid measurement.
const refusedMax = 0.01

func (b *benchmark) measure(ctx context.Context, c candidate, first bool) (figures, error) {
	f := make(figures)
	err := harness.On(c.name(), func(s *harness.Site) error {
		if c.engine {
			return b.measureEngine(ctx, c, f)
		}
		p, err := b.place(s, c)
		s.Must(err)
		instances, err := b.start(ctx, s, c, p.url)
		s.Must(err)
		s.Must(b.stock(ctx, c, p, instances[0]))
		follower := b.publish(s, c, p.url)
		w := &workplace{b, s, c, p, instances[0], f}
		if err := harness.Caught(func() error {
			switch {
			case c.idle:
				return b.measureIdle(ctx, c, p, instances, f)
			case c.task != "":
				return w.do(ctx)
			}
			return b.measureLoad(ctx, c, p, instances, f, w.begin(ctx))
		}); err != nil {
			return fmt.Errorf("%w\nthe program printed:\n%s", err, instances[0].Output)
		}
		s.Must(follower.follows(f, b.seconds))
		if first && c.database == "postgres" && !c.idle && c.task == "" {
			return b.countTrips(ctx, s, c, p, f)
		}
		return nil
	})
	return f, errors.Join(err, b.settle(ctx))
}

// must ends the current measurement if a step of it has failed.
func (b *benchmark) must(err error) { b.whole.Must(err) }

type reading struct {
	clocks
	books
}

// measureLoad measures draws. end ends the work beside them.
func (b *benchmark) measureLoad(ctx context.Context, c candidate, p *spot, instances []*harness.Process, f figures, end func() error) error {
	took, err := b.firstDraw(ctx, c, instances)
	b.must(err)
	f[firstDraw] = float64(took.Microseconds())
	_, err = b.load(ctx, c, instances, b.warmUp)
	b.must(err)
	begun, err := transactionsBefore(ctx, c, p)
	b.must(err)
	var before, after reading
	before.books, err = b.readBooks(ctx, c, p, instances)
	b.must(err)
	before.clocks, err = readClocks(p, instances)
	b.must(err)
	run, err := b.load(ctx, c, instances, b.seconds)
	b.must(err)
	after.clocks, err = readClocks(p, instances)
	b.must(errors.Join(err, end()))
	peak, err := peakOf(pidsOf(instances)...)
	b.must(err)
	after.books, err = b.readBooks(ctx, c, p, instances)
	b.must(err)
	b.must(stopAll(c, instances))
	f.take(c, run, before, after)
	f[memory] = float64(peak) / 1e6
	if f[refused] > refusedMax {
		return fmt.Errorf("%.1f %% of the requests were not answered as they should be: %+v", 100*f[refused], run)
	}
	b.must(believe(c, b.callers(c), run, before.books, after.books))
	return countTransactions(ctx, c, p, run, begun, f)
}

func (f figures) take(c candidate, run wrkResult, before, after reading) {
	seconds := float64(run.Duration) / 1e6
	requests := float64(run.answered(c))
	f[perSecond] = requests / seconds
	f[unitRate] = requests * float64(c.units()) / seconds
	f[p50], f[p99], f[p999], f[slowest] = float64(run.P50), float64(run.P99), float64(run.P999), float64(run.Max)
	f[refused] = run.refused(c)
	f[answerSize] = float64(run.Bytes) / float64(run.Requests)
	per := func(d time.Duration) float64 { return float64(d.Microseconds()) / requests }
	if c.share > 0 {
		f[dropped] = float64(run.Dropped)
	}
	f[serviceCPU] = per(after.service - before.service)
	f[clientCPU] = per(run.cpu)
	f[disturbance] = float64(after.others-before.others) / float64(after.at.Sub(before.at))
	if c.database != "" && c.database != "sqlite" { // SQLite runs within the service
		f[databaseCPU] = per(after.database - before.database)
	}
	if c.database == "postgres" {
		f[walBytes] = float64(after.wal-before.wal) / requests
	}
	if c.database == "mysql" {
		f[pageBytes] = float64(after.pages-before.pages) / requests
	}
	if batches := after.batches - before.batches; batches > 0 && !c.isRefused() {
		f[batchDraws] = (after.draws - before.draws) / batches
	}
}

// believe compares the counted draws with the service's own counters: every 200 is a
// draw that happened, and every draw was counted. The only exceptions are draws whose
// callers disconnected when the warm-up or the load ended.
func believe(c candidate, callers int, run wrkResult, before, after books) error {
	if c.program != service {
		return nil
	}
	units := int64(c.units())
	counted, booked := run.answered(c)*units, after.issued-before.issued
	if c.isRefused() {
		counted = 0
	}
	unread := 2 * int64(callers) * units
	if booked < counted || booked > counted+unread {
		return fmt.Errorf("wrk counts %d units, the service's books say %d", counted, booked)
	}
	return nil
}

func transactionsBefore(ctx context.Context, c candidate, p *spot) (int64, error) {
	if c.database != "postgres" {
		return 0, nil
	}
	return transactionsOf(ctx, p)
}

func countTransactions(ctx context.Context, c candidate, p *spot, run wrkResult, begun int64, f figures) error {
	if c.database != "postgres" {
		return nil
	}
	time.Sleep(calmEvery) // a database session ends a moment after its client
	ended, err := transactionsOf(ctx, p)
	f[transactions] = float64(ended-begun) / float64(run.answered(c))
	return err
}

// tripSeconds is how long round trips are counted.
const tripSeconds = 1

// countTrips runs the candidate once more, through a proxy that counts round trips but
// slows them. For the service it counts the round trips of a batch; the measurement
// itself shows how many draws share a batch.
func (b *benchmark) countTrips(ctx context.Context, s *harness.Site, c candidate, p *spot, f figures) error {
	proxy := servertest.StartProxy(s, p.url)
	instances, err := b.start(ctx, s, c, proxy.URL())
	b.must(err)
	_, err = b.firstDraw(ctx, c, instances)
	b.must(err)
	_, err = b.load(ctx, c, instances, tripSeconds) // so that later round trips neither connect nor prepare statements
	b.must(err)
	before, err := b.readBooks(ctx, c, p, instances)
	b.must(err)
	turns := proxy.Turns()
	run, err := b.load(ctx, c, instances, tripSeconds)
	b.must(err)
	trips := float64(proxy.Turns() - turns)
	after, err := b.readBooks(ctx, c, p, instances)
	b.must(err)
	f[roundTrips] = trips / float64(run.answered(c))
	if batches := after.batches - before.batches; batches > 0 && f[batchDraws] > 0 {
		f[roundTrips] = trips / batches / f[batchDraws]
	}
	return stopAll(c, instances)
}

// idleAfter is how long the service gets no requests before its idle CPU is measured.
const idleAfter = 2 * time.Second

func (b *benchmark) measureIdle(ctx context.Context, c candidate, p *spot, instances []*harness.Process, f figures) error {
	// Connections to the service are closed, so that their goroutines do not count as
	// left by pools. Only the service's connections to the database stay open.
	http.DefaultClient.CloseIdleConnections()
	fresh, err := b.readBooks(ctx, c, p, instances)
	b.must(err)
	_, err = b.load(ctx, c, instances, b.warmUp)
	b.must(err)
	time.Sleep(idleAfter)
	before, err := b.readBooks(ctx, c, p, instances)
	b.must(err)
	http.DefaultClient.CloseIdleConnections()
	time.Sleep(calmEvery)
	begin, err := readClocks(p, instances)
	b.must(err)
	select {
	case <-time.After(time.Duration(b.seconds) * time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	end, err := readClocks(p, instances)
	b.must(err)
	f[idleCPU] = float64(end.service-begin.service) / float64(end.at.Sub(begin.at))
	f[goroutines] = max(before.goroutines-fresh.goroutines, 0) / float64(c.pools)
	return stopAll(c, instances)
}
