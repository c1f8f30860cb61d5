package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"drawsvc/loadtest/harness"
)

const (
	// plenty is the stock of a prize that does not run out.
	plenty = 1_000_000_000
	// prizesUsual is how many prizes a pool has.
	prizesUsual = 10
)

// poolOf is the pool that a candidate draws from, or what the names of its
// pools begin with.
func poolOf(c candidate) string {
	if c.soldOut {
		return "sold-out"
	}
	return "bench"
}

// stock makes the candidate's pools, where its place has none yet.
func (b *benchmark) stock(ctx context.Context, c candidate, p *place, i *harness.Process) error {
	if p.stocked {
		return nil
	}
	p.stocked = true
	if c.pools > 0 {
		return b.stockMany(ctx, c, i)
	}
	if c.soldOut {
		if err := createPool(ctx, i, poolOf(c), 1); err != nil {
			return err
		}
		_, err := b.drawOnce(ctx, i, poolOf(c), prizesUsual)
		return err
	}
	if err := createPool(ctx, i, poolOf(c), plenty); err != nil {
		return err
	}
	if err := setRules(ctx, c, i, poolOf(c)); err != nil {
		return err
	}
	if err := commitPool(ctx, c, i, poolOf(c)); err != nil {
		return err
	}
	if c.prizes == 0 && c.awards == 0 {
		return nil
	}
	begin := time.Now()
	if err := fill(ctx, c, p.url); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "(filled in %v) ", time.Since(begin).Round(time.Second))
	return b.settle(ctx)
}

const makersMax = 16

func (b *benchmark) stockMany(ctx context.Context, c candidate, i *harness.Process) error {
	var makers sync.WaitGroup
	names, errs := make(chan string), make(chan error, c.pools)
	for range makersMax {
		makers.Go(func() {
			for name := range names {
				errs <- createPool(ctx, i, name, plenty)
			}
		})
	}
	for n := range c.pools {
		names <- fmt.Sprintf("%s-%d", poolOf(c), n+1)
	}
	close(names)
	makers.Wait()
	for range c.pools {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

func createPool(ctx context.Context, i *harness.Process, id string, stock int64) error {
	return harness.MakePool(ctx, i.URL, harness.Pool{ID: id, Name: "Bench", Prizes: harness.TenPrizes(stock)})
}

func (b *benchmark) drawOnce(ctx context.Context, i *harness.Process, pool string, count int) (time.Duration, error) {
	b.seed++
	body := fmt.Sprintf(`{"pool":%q,"user":"user-12345","count":%d}`, pool, count)
	begin := time.Now()
	answer, status, err := harness.Call(ctx, http.MethodPost, i.URL+"/draw", body, "Idempotency-Key", fmt.Sprintf("once-%d", b.seed))
	if err == nil && status != http.StatusOK && status != http.StatusConflict {
		err = fmt.Errorf("a draw is answered %d: %s", status, answer)
	}
	return time.Since(begin), err
}

// firstDraw has each instance read the pool: one of many prizes takes its time.
func (b *benchmark) firstDraw(ctx context.Context, c candidate, instances []*harness.Process) (time.Duration, error) {
	pool := poolOf(c)
	if c.pools > 0 {
		pool += "-1"
	}
	var longest time.Duration
	for _, i := range instances {
		took, err := b.drawOnce(ctx, i, pool, 1)
		if err != nil {
			return 0, err
		}
		longest = max(longest, took)
	}
	return longest, nil
}
