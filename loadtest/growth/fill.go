package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	caller "drawsvc/client"
	"drawsvc/internal/draw"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

const (
	// large is the pool that has all awards. In addition, each step has a committed
	// pool.
	large = "large"
	// timeout is the service's timeout of a request: a killed database takes some
	// seconds to recover.
	timeout = 10 * time.Second
	// workers is the number of concurrent callers, users the number of users.
	workers, users = 24, 1_000_000
	// roundMax bounds the awards of a round, because its answers are kept in memory
	// until they are judged. roundsMin is the minimum number of rounds of a step.
	roundMax, roundsMin = 500_000, 10
	// knownMax is the number of keys of each round that are looked up later.
	knownMax = 3
	// stockOfPrize is more than any run draws.
	stockOfPrize = 1_000_000_000
)

// filler draws awards in rounds. In each round something is killed, and at its end all
// answers are compared with the rows.
type filler struct {
	*client.Trial
	out io.Writer
	// since is the version up to which a pool was judged; drawn counts its awards.
	since, drawn map[string]int64
	known        []history.Op
	places       []feedPlace
	// took are the times of the present step's restarts, by what was killed.
	took                  map[string][]float64
	kills, draws, unknown int
}

// feedPlace is a cursor of the feed, and the awards before it.
type feedPlace struct {
	awards int64
	cursor string
}

func proofPool(step int) string { return fmt.Sprint("proof-", step+1) }

// fill draws until the large pool has the given number of awards, and a new committed
// pool has a tenth as many.
func (f *filler) fill(step int, awards int64) error {
	clear(f.took)
	if step == 0 {
		if err := f.makeLarge(); err != nil {
			return err
		}
	}
	proof := proofPool(step)
	if err := f.makeCommitted(proof, awards/10); err != nil {
		return err
	}
	if err := f.fillPool(proof, awards/10, nil); err != nil {
		return err
	}
	return f.fillPool(large, awards-f.drawn[large], f.kill)
}

func (f *filler) fillPool(pool string, awards int64, fault func() error) error {
	begun, last := time.Now(), f.drawn[pool]+awards
	each := min(roundMax, max(draw.CountMax, awards/roundsMin))
	for f.drawn[pool] < last {
		if err := f.round(pool, int((min(each, last-f.drawn[pool])+draw.CountMax-1)/draw.CountMax), fault); err != nil {
			return err
		}
		harness.Say(f.out, "%s %s: %d awards, %.0f/s, %d kills, %d broken\n", time.Now().Format(time.TimeOnly), pool, f.drawn[pool],
			float64(f.drawn[pool]-last+awards)/time.Since(begun).Seconds(), f.kills, len(f.Verdict.Violations))
	}
	return nil
}

// round makes draws of a hundred units, with a fault in the middle, and retries each
// draw until it is answered. Then it judges the draws.
func (f *filler) round(pool string, draws int, fault func() error) (err error) {
	f.History = history.New()
	ctx, end := context.WithCancel(f.Ctx)
	defer end()
	var left atomic.Int64
	left.Store(int64(draws))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		client.Parallel(workers, func(n int) {
			for left.Add(-1) >= 0 && ctx.Err() == nil {
				f.drawOne(ctx, pool, n)
			}
		})
	}()
	if fault != nil {
		for left.Load() > int64(draws/2) && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if err = fault(); err != nil {
			end()
		}
	}
	<-ended
	return errors.Join(err, f.Ctx.Err(), f.judge(pool, f.History.Ops()), f.markFeed(pool))
}

func (f *filler) drawOne(ctx context.Context, pool string, n int) {
	last, _ := f.Insist(ctx, history.Op{
		Kind: history.Draw, Pool: pool, Key: caller.NewKey(), User: fmt.Sprint("user-", rand.IntN(users)), Count: draw.CountMax, Client: n,
	})
	if !last.Won() {
		f.Verdict.Say(history.Unsettled, "%s", &last)
	}
}

// judge compares a round's answers with the rows since the round before.
func (f *filler) judge(pool string, ops []history.Op) error {
	rows, err := history.ReadAwards(f.Ctx, f.Base.Admin, pool, f.since[pool], f.Numbered())
	for range 2 { // connections of a killed server die unnoticed
		if err == nil {
			break
		}
		rows, err = history.ReadAwards(f.Ctx, f.Base.Admin, pool, f.since[pool], f.Numbered())
	}
	if err != nil || len(rows.Awards) == 0 {
		return errors.Join(err, fmt.Errorf("pool %s has %d new awards", pool, len(rows.Awards)))
	}
	judgeRound(&f.Verdict, ops, rows, history.Terms{
		Deadline: timeout + stage.Grace + time.Duration(f.Lag.Load()), Plenty: map[string]bool{pool: true},
		Excused: func(instance int, from, to time.Duration) bool {
			return f.Instances[instance].Halted(f.History.Time(from), f.History.Time(to))
		},
	})
	f.since[pool] = rows.Awards[len(rows.Awards)-1].Version
	f.drawn[pool] += int64(len(rows.Awards))
	for i := range ops {
		if ops[i].Unknown() {
			f.unknown++
		}
		if ops[i].Won() && !ops[i].Replayed {
			f.draws++
		}
	}
	if pool == large {
		won := slices.DeleteFunc(slices.Clone(ops), func(o history.Op) bool { return !o.Won() })
		f.known = append(f.known, won[:min(knownMax, len(won))]...)
	}
	return nil
}

// judgeRound judges a round: a hundred units for each draw, none of them lost, issued
// twice, or issued without a request. The audits judge the counters.
func judgeRound(v *history.Verdict, ops []history.Op, rows history.Rows, terms history.Terms) {
	history.Answers(v, ops, terms)
	history.Match(v, ops, rows, terms)
	units := map[string]bool{}
	for i, a := range rows.Awards {
		if unit := fmt.Sprint(a.Prize, " ", a.Unit); units[unit] {
			v.Say(history.UnitTwice, "pool %s issued the unit %s twice", rows.Pool, unit)
		} else {
			units[unit] = true
		}
		if i > 0 && a.Version != rows.Awards[i-1].Version+1 {
			v.Say(history.Versions, "pool %s lacks the version before %d", rows.Pool, a.Version)
		}
	}
}

// kill kills the service, the database or both, and starts them again.
func (f *filler) kill() error {
	i := f.Instances[0]
	ofService, ofDatabase := f.kills%3 != 1, f.kills%3 != 0
	f.kills++
	if ofService {
		i.Kill()
	}
	if ofDatabase {
		f.Server.Kill()
		begun := time.Now()
		if err := f.Server.Start(); err != nil {
			return err
		}
		f.took[databaseStart] = append(f.took[databaseStart], time.Since(begun).Seconds())
	}
	if !ofService {
		return nil
	}
	begun := time.Now()
	err := i.Again(f.Ctx)
	f.took[serviceStart] = append(f.took[serviceStart], time.Since(begun).Seconds())
	return err
}

// markFeed keeps the end of the feed, which later is a place in its middle.
func (f *filler) markFeed(pool string) error {
	if pool != large {
		return nil
	}
	page, _, err := f.feedPage("now")
	f.places = append(f.places, feedPlace{f.drawn[large], page.Next})
	return err
}

func (f *filler) makeLarge() error {
	at := "/admin/pools/" + large
	return errors.Join(
		f.Operate(http.MethodPost, "/admin/pools", harness.Pool{ID: large, Name: "Large", Prizes: harness.TenPrizes(stockOfPrize)}, http.StatusCreated),
		f.Operate(http.MethodPost, at+"/prizes", map[string]any{"id": "none", "name": "No luck", "kind": "blank"}, http.StatusCreated),
		f.Operate(http.MethodPut, at+"/rules", map[string]any{"win": "9/10", "fallback": "none"}, http.StatusOK))
}

func (f *filler) makeCommitted(pool string, awards int64) error {
	at := "/admin/pools/" + pool
	return errors.Join(
		f.Operate(http.MethodPost, "/admin/pools", map[string]any{
			"id": pool, "name": "Committed", "state": "paused", "prizes": harness.TenPrizes(awards),
		}, http.StatusCreated),
		f.Operate(http.MethodPost, at+"/commitment", map[string]any{"epochs": 256, "epoch_length": max(1000, awards/50)}, http.StatusCreated),
		f.Operate(http.MethodPatch, at, map[string]any{"state": "open"}, http.StatusOK))
}
