package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/procfs"

	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// clocks are CPU times at one moment.
type clocks struct {
	at                time.Time
	service, database time.Duration
	// others is the CPU time of all processes that do not belong to this run.
	others time.Duration
}

func readClocks(p *spot, instances []*harness.Process) (clocks, error) {
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

// books are the counters of the service and the database at one moment. Reading them
// costs CPU time of both, so they are not read while CPU time is measured.
type books struct {
	wal            int64   // bytes, only of PostgreSQL
	pages          int64   // bytes, only of MariaDB
	batches, draws float64 // as the service counts them
	goroutines     float64
	issued         int64 // units drawn from all pools
}

func (b *benchmark) readBooks(ctx context.Context, c candidate, p *spot, instances []*harness.Process) (books, error) {
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
	if c.database == "postgres" { // listing a large pool costs the service memory
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
	db, err := place.Open(url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }()
	var name string
	err = db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Innodb_data_written'").Scan(&name, &bytes)
	return bytes, err
}

// transactionsOf counts the transactions of one database. PostgreSQL counts those of a
// session at the latest when the session ends.
func transactionsOf(ctx context.Context, p *spot) (int64, error) {
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
	// calmMax is the maximum wait for servers to complete work that a measurement has
	// left.
	calmMax = 5 * time.Second
	// calmEvery is the time between two samples; less CPU than calm in that time counts
	// as none.
	calmEvery = 200 * time.Millisecond
	calm      = tick
)

// settle waits until the servers of the run are idle, so that the previous candidate
// does not slow the next.
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

// tick is the unit of a process's CPU times: USER_HZ is 100 on every Linux.
const tick = 10 * time.Millisecond

func processes() (map[int]procfs.ProcStat, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, err
	}
	return processesOf(proc)
}

func processesOf(proc procfs.FS) (map[int]procfs.ProcStat, error) {
	running, err := proc.AllProcs()
	if err != nil {
		return nil, err
	}
	all := make(map[int]procfs.ProcStat)
	for _, p := range running {
		stat, err := p.Stat()
		if _, ended := errors.AsType[*fs.PathError](err); ended {
			continue // it has just ended
		}
		if err != nil {
			return nil, err
		}
		all[p.PID] = stat
	}
	return all, nil
}

// busyOf returns the time for which all CPUs have worked, including work for other
// virtual machines.
func busyOf(proc procfs.FS) (time.Duration, error) {
	stat, err := proc.Stat()
	c := stat.CPUTotal
	return time.Duration((c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal) * float64(time.Second)), err
}

// others returns the CPU time of processes outside this run, except the kernel's threads.
// All processes of this run descend from this process.
func others(all map[int]procfs.ProcStat) (time.Duration, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, err
	}
	busy, err := busyOf(proc)
	ours := []int{os.Getpid()}
	if all[2].Comm == "kthreadd" {
		ours = append(ours, 2)
	}
	return busy - cpuOf(all, ours...), err
}

// cpuOf sums up the processes and all their descendants. A descendant that ends adds
// its time to its parent, so nothing is lost.
func cpuOf(all map[int]procfs.ProcStat, pids ...int) time.Duration {
	var sum time.Duration
	within := make(map[int]bool)
	for _, pid := range pids {
		within[pid] = true
	}
	for pid, p := range all {
		if descends(all, pid, within) {
			sum += time.Duration(int(p.UTime+p.STime)+p.CUTime+p.CSTime) * tick //nolint:gosec // ticks are few
		}
	}
	return sum
}

func descends(all map[int]procfs.ProcStat, pid int, set map[int]bool) bool {
	for range len(all) {
		if set[pid] {
			return true
		}
		p, ok := all[pid]
		if !ok {
			return false
		}
		pid = p.PPID
	}
	return false
}

func childrenOf(all map[int]procfs.ProcStat, parent int, program string) map[int]bool {
	found := make(map[int]bool)
	for pid, p := range all {
		if p.PPID == parent && p.Comm == program {
			found[pid] = true
		}
	}
	return found
}

// peakOf sums up the processes' peak resident memory, in bytes.
func peakOf(pids ...int) (uint64, error) {
	var sum uint64
	for _, pid := range pids {
		p, err := procfs.NewProc(pid)
		if err != nil {
			return 0, err
		}
		status, err := p.NewStatus()
		if err != nil {
			return 0, err
		}
		if status.VmHWM == 0 {
			return 0, fmt.Errorf("/proc/%d/status has no VmHWM", pid)
		}
		sum += status.VmHWM
	}
	return sum, nil
}
