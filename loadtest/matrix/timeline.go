package main

import (
	"context"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

// sampleEvery is the time between two samples of a run that is drawn.
const sampleEvery = 100 * time.Millisecond

type timeline struct {
	Name    string   `json:"name"`
	Samples []sample `json:"samples"`
}

// sample is one moment. k6 counts the draws that had won, and those that had been
// refused as sold out. The service reports the remaining stock.
type sample struct {
	Seconds   float64 `json:"seconds"`
	Won       float64 `json:"won"`
	SoldOut   float64 `json:"sold_out"`
	Remaining float64 `json:"remaining"`
}

func sampled(ctx context.Context, s *harness.Site, c cell, urls []string) (loadRun, *timeline, error) {
	address := servertest.FreeAddr(s)
	pool := "drawn"
	c.options = append(c.options, "POOL="+pool)
	watching, stop := context.WithCancel(ctx)
	line := &timeline{Name: c.name()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		line.watch(watching, "http://"+address, urls[0]+"/admin/pools/"+pool)
	}()
	run, err := load(ctx, s, c, urls, address)
	stop()
	<-done
	return run, line, err
}

// watch takes samples until the context ends. It leaves out moments at which k6 or the
// pool does not exist, before and after the run.
func (t *timeline) watch(ctx context.Context, k6, pool string) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	begin := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		remaining, err := remainingOf(ctx, pool)
		if err != nil {
			begin = time.Now()
			continue
		}
		counters, err := countersOf(ctx, k6)
		if err != nil {
			continue
		}
		t.Samples = append(t.Samples, sample{
			Seconds: time.Since(begin).Seconds(), Won: counters["won"], SoldOut: counters["sold_out"], Remaining: remaining,
		})
	}
}

func remainingOf(ctx context.Context, pool string) (float64, error) {
	var answer struct {
		Prizes []struct {
			Remaining float64 `json:"remaining"`
		} `json:"prizes"`
	}
	err := harness.FetchJSON(ctx, pool, &answer)
	var n float64
	for _, p := range answer.Prizes {
		n += p.Remaining
	}
	return n, err
}

// countersOf reads k6's counters while it runs.
func countersOf(ctx context.Context, k6 string) (map[string]float64, error) {
	var answer struct {
		Data []struct {
			ID         string `json:"id"`
			Attributes struct {
				Sample map[string]float64 `json:"sample"`
			} `json:"attributes"`
		} `json:"data"`
	}
	err := harness.FetchJSON(ctx, k6+"/v1/metrics", &answer)
	counters := make(map[string]float64)
	for _, metric := range answer.Data {
		counters[metric.ID] = metric.Attributes.Sample["count"]
	}
	return counters, err
}
