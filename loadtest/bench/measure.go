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

// refusedMax is the share of requests that may go unanswered, or be answered
// busy, in a measurement that counts.
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
		beside := b.publish(s, c, p.url)
		measure := b.measureLoad
		if c.idle {
			measure = b.measureIdle
		}
		if err := harness.Caught(func() error { return measure(ctx, c, p, instances, f) }); err != nil {
			return fmt.Errorf("%w\nthe program printed:\n%s", err, instances[0].Output)
		}
		s.Must(beside.follows(f, b.seconds))
		if first && c.database == "postgres" && !c.idle {
			return b.countTrips(ctx, s, c, p, f)
		}
		return nil
	})
	return f, errors.Join(err, b.settle(ctx))
}

// must ends the measurement that is under way, when a step of it has failed.
func (b *benchmark) must(err error) { b.whole.Must(err) }

type reading struct {
	clocks
	books
}

func (b *benchmark) measureLoad(ctx context.Context, c candidate, p *spot, instances []*harness.Process, f figures) error {
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
	b.must(err)
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
	f[serviceCPU] = per(after.service - before.service)
	f[clientCPU] = per(run.cpu)
	f[disturbance] = float64(after.others-before.others) / float64(after.at.Sub(before.at))
	if c.database != "" && c.database != "sqlite" { // SQLite is within the service
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

// believe holds what was counted against the service's books: every 200 is a
// draw that happened, and none is missing save those whose callers had disconnected
// the warm-up or the load ended.
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
	time.Sleep(calmEvery) // the sessions end after their clients
	ended, err := transactionsOf(ctx, p)
	f[transactions] = float64(ended-begun) / float64(run.answered(c))
	return err
}

// tripSeconds is how long round trips are counted.
const tripSeconds = 1

// countTrips runs the candidate once more, through a link that counts, which
// makes it slower. For the service it counts the trips of a batch; how many
// draws share a batch is known from the measurement itself.
func (b *benchmark) countTrips(ctx context.Context, s *harness.Site, c candidate, p *spot, f figures) error {
	proxy := servertest.StartProxy(s, p.url)
	instances, err := b.start(ctx, s, c, proxy.URL())
	b.must(err)
	_, err = b.firstDraw(ctx, c, instances)
	b.must(err)
	_, err = b.load(ctx, c, instances, tripSeconds) // connects, prepares statements
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

// idleAfter is how long the service is left alone before it is watched idle.
const idleAfter = 2 * time.Second

func (b *benchmark) measureIdle(ctx context.Context, c candidate, p *spot, instances []*harness.Process, f figures) error {
	// The connections to the database stay, and are no pool's.
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
