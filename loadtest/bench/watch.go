package main

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"drawsvc/loadtest/harness"
)

// clocks are the CPU times at one moment.
type clocks struct {
	at                time.Time
	service, database time.Duration
	// others is what all used that is not of this run.
	others time.Duration
}

func readClocks(p *place, instances []*harness.Process) (clocks, error) {
	var c clocks
	all, err := processes()
	if err != nil {
		return c, err
	}
	c.at = time.Now()
	c.service = cpuOf(all, pidsOf(instances)...)
	if p.server != nil {
		c.database = cpuOf(all, p.server.pid)
	}
	c.others, err = others(all)
	return c, err
}

// books are what service and database count at one moment. Reading them costs
// both of them work, so clocks are read on the inner side of a measurement.
type books struct {
	wal            int64   // bytes, PostgreSQL alone
	pages          int64   // bytes, MariaDB alone
	batches, draws float64 // as the service counts them
	goroutines     float64
	issued         int64 // units drawn from all pools
}

func (b *benchmark) readBooks(ctx context.Context, c candidate, p *place, instances []*harness.Process) (books, error) {
	var r books
	if c.database == "postgres" {
		if err := ask(ctx, p.url, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint", &r.wal); err != nil {
			return r, err
		}
	}
	if c.database == "mysql" {
		var err error
		if r.pages, err = pagesWritten(ctx, p.url); err != nil {
			return r, err
		}
	}
	if c.program != service {
		return r, nil
	}
	for _, i := range instances {
		said, err := harness.Metrics(ctx, i.URL)
		if err != nil {
			return r, err
		}
		r.batches += said["drawsvc_batch_draws_count"]
		r.draws += said["drawsvc_batch_draws_sum"]
		r.goroutines += said["go_goroutines"]
	}
	if c.database == "postgres" { // a large pool costs the service memory to list
		return r, ask(ctx, p.url, "SELECT sum(issued)::bigint FROM prizes", &r.issued)
	}
	var err error
	r.issued, err = issued(ctx, instances[0])
	return r, err
}

func ask(ctx context.Context, url, text string, into any, args ...any) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return conn.QueryRow(ctx, text, args...).Scan(into)
}

func pagesWritten(ctx context.Context, url string) (bytes int64, err error) {
	db, err := harness.OpenDatabase(url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	var name string
	err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Innodb_data_written'").Scan(&name, &bytes)
	return bytes, err
}

// transactionsOf counts those of one database. A session adds its own at the
// latest when it ends.
func transactionsOf(ctx context.Context, p *place) (int64, error) {
	location, err := url.Parse(p.url)
	if err != nil {
		return 0, err
	}
	var n int64
	err = ask(ctx, p.server.url, "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1", &n,
		strings.TrimPrefix(location.Path, "/"))
	return n, err
}

func issued(ctx context.Context, i *harness.Process) (int64, error) {
	var answer struct {
		Pools []struct {
			Prizes []struct {
				Issued int64 `json:"issued"`
			} `json:"prizes"`
		} `json:"pools"`
	}
	err := harness.FetchJSON(ctx, i.URL+"/admin/pools", &answer)
	var sum int64
	for _, pool := range answer.Pools {
		for _, prize := range pool.Prizes {
			sum += prize.Issued
		}
	}
	return sum, err
}

func pidsOf(instances []*harness.Process) []int {
	pids := make([]int, len(instances))
	for k, i := range instances {
		pids[k] = i.PID()
	}
	return pids
}

const (
	// calmMax is the longest wait for servers to finish what a measurement
	// has left to them.
	calmMax = 5 * time.Second
	// calmEvery is the time between two samples, calm the CPU used in it that
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
