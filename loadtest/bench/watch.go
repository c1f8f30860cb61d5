package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// reading is what all counters say at one moment.
type reading struct {
	at                time.Time
	service, database time.Duration // CPU
	strangers         time.Duration // CPU of all that is not of this run
	wal               int64         // bytes, PostgreSQL alone
	batches, draws    float64       // as the service counts them
	goroutines        float64
	issued            int64 // units, as the service's books say
}

// read reads the counters of what runs for a candidate.
func (b *benchmark) read(ctx context.Context, c candidate, p *place, instances []*instance) (reading, error) {
	var r reading
	all, err := processes()
	if err != nil {
		return r, err
	}
	if r.strangers, err = strangers(all); err != nil {
		return r, err
	}
	r.at = time.Now()
	r.service = cpuOf(all, pidsOf(instances)...)
	if p.server != nil {
		r.database = cpuOf(all, p.server.pid)
	}
	if c.database == "postgres" {
		if err := b.askPostgres(ctx, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint", &r.wal); err != nil {
			return r, err
		}
	}
	if c.program != service {
		return r, nil
	}
	for _, i := range instances {
		text, status, err := i.call(ctx, http.MethodGet, "/metrics", "")
		if err != nil || status != http.StatusOK {
			return r, fmt.Errorf("the metrics are answered %d: %w", status, err)
		}
		r.batches += sampleOf(text, "drawsvc_batch_draws_count")
		r.draws += sampleOf(text, "drawsvc_batch_draws_sum")
		r.goroutines += sampleOf(text, "go_goroutines")
	}
	r.issued, err = issued(ctx, instances[0])
	return r, err
}

// askPostgres asks the server of the whole run for one value.
func (b *benchmark) askPostgres(ctx context.Context, text string, into any, args ...any) error {
	conn, err := pgx.Connect(ctx, b.servers["postgres"].url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return conn.QueryRow(ctx, text, args...).Scan(into)
}

// transactionsOf counts those of one database. A session adds its own at the
// latest when it ends.
func (b *benchmark) transactionsOf(ctx context.Context, raw string) (int64, error) {
	location, err := url.Parse(raw)
	if err != nil {
		return 0, err
	}
	var n int64
	err = b.askPostgres(ctx, "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1", &n,
		strings.TrimPrefix(location.Path, "/"))
	return n, err
}

// sampleOf is the value of a metric without labels in Prometheus's text, 0
// where there is none.
func sampleOf(text []byte, name string) float64 {
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte(name+" "))
		if !ok {
			continue
		}
		value, err := strconv.ParseFloat(string(bytes.TrimSpace(rest)), 64)
		if err == nil {
			return value
		}
	}
	return 0
}

// issued adds up the units drawn from all pools.
func issued(ctx context.Context, i *instance) (int64, error) {
	text, status, err := i.call(ctx, http.MethodGet, "/admin/pools", "")
	if err != nil || status != http.StatusOK {
		return 0, fmt.Errorf("the pools are answered %d: %w", status, err)
	}
	var answer struct {
		Pools []struct {
			Prizes []struct {
				Issued int64 `json:"issued"`
			} `json:"prizes"`
		} `json:"pools"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return 0, err
	}
	var sum int64
	for _, pool := range answer.Pools {
		for _, prize := range pool.Prizes {
			sum += prize.Issued
		}
	}
	return sum, nil
}

func pidsOf(instances []*instance) []int {
	pids := make([]int, len(instances))
	for k, i := range instances {
		pids[k] = i.pid
	}
	return pids
}

const (
	// calmMax is the longest wait for servers to finish what a measurement
	// has left to them.
	calmMax = 5 * time.Second
	// calmEvery is the time between two looks, calm the CPU used in it that
	// counts as none.
	calmEvery = 200 * time.Millisecond
	calm      = tick
)

// settle waits until the servers of the run do nothing any more, so that the
// next candidate does not pay for the one before.
func (b *benchmark) settle(ctx context.Context) error {
	flushAll()
	var pids []int
	for _, s := range b.servers {
		pids = append(pids, s.pid)
	}
	last := time.Duration(-1)
	for until := time.Now().Add(calmMax); time.Now().Before(until) && ctx.Err() == nil; time.Sleep(calmEvery) {
		all, err := processes()
		if err != nil {
			return err
		}
		used := cpuOf(all, pids...)
		if last >= 0 && used-last <= calm {
			return nil
		}
		last = used
	}
	return ctx.Err()
}
