package stock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/stocktest"
)

// wrongBy returns by how much the clocks of three instances differ from the database's.
func wrongBy() []time.Duration { return []time.Duration{-90 * time.Second, 0, 90 * time.Second} }

// deadlines holds three instances on one database, each with its own clock. For an SQLite
// file it holds one, because a file has one process, whose clock is the database's.
type deadlines struct {
	stores []*stock.Store
	// set makes the database's clock show a time, at which it stays.
	set func(time.Time)
}

// newStopped opens a database whose clock shows the time that the test sets. by is the
// error of the clocks of instances that use their own; it is 0 except for a broken
// double.
func newStopped(t *testing.T, dialect string, by time.Duration) deadlines {
	url, o := stocktest.Migrated(t, dialect), stock.Options{}
	if dialect == "sqlite" {
		var at atomic.Pointer[time.Time]
		set := func(to time.Time) { at.Store(&to) }
		set(time.Now())
		o.Machine = func() time.Time { return at.Load().Add(by) }
		return deadlines{[]*stock.Store{stocktest.Open(t, url, o)}, set}
	}
	plain := stocktest.Open(t, url, stock.Options{})
	d := *stock.DialectOf(dialect)
	d.Clock = `(SELECT at FROM stopped)`
	const layout = "2006-01-02 15:04:05.000000"
	set := func(to time.Time) {
		stocktest.ExecAll(t, plain, []string{fmt.Sprintf(`UPDATE stopped SET at = '%s'`, to.UTC().Format(layout))})
	}
	kind := map[string]string{"postgres": "TIMESTAMP", "mysql": "DATETIME(6)"}[dialect]
	stocktest.ExecAll(t, plain, []string{`CREATE TABLE stopped (at ` + kind + ` NOT NULL)`, fmt.Sprintf(`INSERT INTO stopped VALUES ('%s')`, time.Now().UTC().Format(layout))})
	return deadlines{openThree(t, &d, url), set}
}

// openThree opens a database for three instances whose clocks are wrong.
func openThree(t *testing.T, d *engine.Dialect, url string) (all []*stock.Store) {
	t.Helper()
	for _, by := range wrongBy() {
		s, err := stock.OpenDialect(t.Context(), d, url, stock.Options{Machine: func() time.Time { return time.Now().Add(by) }})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		all = append(all, s)
	}
	return all
}

func (d deadlines) store(i int) *stock.Store { return d.stores[i%len(d.stores)] }

// expire runs Expire on all instances at once, and returns how many awards ended.
func (d deadlines) expire(t *testing.T) int {
	t.Helper()
	var all sync.WaitGroup
	var ended atomic.Int64
	for i := range wrongBy() {
		all.Go(func() {
			n, _, err := d.store(i).Expire(t.Context(), "p")
			if err != nil {
				t.Error(err)
			}
			ended.Add(int64(n))
		})
	}
	all.Wait()
	return int(ended.Load())
}

// claim claims the award of draw n on one of the instances.
func (d deadlines) claim(t *testing.T, n int) error {
	t.Helper()
	_, err := d.store(n).Claim(t.Context(), "p", fmt.Sprint("d", n), "u", 0, "test")
	return err
}

// setClaims replaces the rules of the pool.
func setClaims(t *testing.T, s *stock.Store, document string) {
	t.Helper()
	r, err := rules.Parse([]byte(document))
	require.NoError(t, err)
	_, err = s.SetRules(t.Context(), "p", r, nil, "test")
	require.NoError(t, err)
}

// award makes draws d0, d1 … win, one batch at a time. The first batch is at a given
// time, and the interval between batches is step.
func (d deadlines) award(t *testing.T, batches, size int, at time.Time, step time.Duration) (made []draw.Award) {
	t.Helper()
	p, err := d.store(1).Pool(t.Context(), "p")
	require.NoError(t, err)
	for batch := range batches {
		names := make([]string, size)
		for i := range names {
			names[i] = fmt.Sprint("d", len(made)+i)
		}
		plan := stocktest.Plan("p", p.Version+int64(len(made)), "a", int64(len(made)), names...)
		for i := range plan.Awards {
			plan.Awards[i].At = at.Add(time.Duration(batch) * step)
		}
		require.NoError(t, stocktest.Write(t, d.store(1), stock.TxOptions{Lock: true}, plan))
		made = append(made, plan.Awards...)
	}
	return made
}

// judgeDeadlines reports the faults around the deadline of twelve awards.
func (d deadlines) judgeDeadlines(t *testing.T) (faults []string) {
	t.Helper()
	check := func(isRight bool, format string, args ...any) {
		if !isRight {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	begun := time.Now().UTC().Truncate(time.Microsecond)
	d.set(begun)
	s := d.store(1)
	stocktest.Pool(t, s, "p", 12)
	setClaims(t, s, `{"claims":{"within":"10s"}}`)
	d.award(t, 1, 12, begun, 0)
	until := begun.Add(10 * time.Second)
	for n, before := range []time.Duration{time.Millisecond, 500 * time.Microsecond, time.Microsecond} {
		d.set(until.Add(-before))
		check(d.expire(t) == 0, "an award expired %v before its deadline", before)
		err := d.claim(t, n)
		check(err == nil, "a claim %v before the deadline: %v", before, err)
	}
	for n, after := range []time.Duration{0, time.Microsecond, time.Millisecond} {
		d.set(until.Add(after))
		check(draw.CodeOf(d.claim(t, 3+n)) == draw.CodeClaimExpired, "a claim was accepted %v after the deadline", after)
	}
	d.set(until)
	setClaims(t, s, `{"claims":{"within":"11s"}}`)
	check(d.expire(t) == 0, "an award expired while a longer time was in force")
	for n := range 3 {
		check(d.claim(t, 3+n) == nil, "a claim was refused while a longer time was in force")
	}
	setClaims(t, s, `{"claims":{"within":"1s"}}`)
	check(d.expire(t) == 6, "not all open awards expired once, at the first deadline")
	check(d.expire(t) == 0, "an award expired again")
	steps, err := s.StepsAfter(t.Context(), "p", 0, 100)
	require.NoError(t, err)
	check(len(steps) == 12, "%d steps", len(steps))
	return faults
}

// TestDeadlinesAreTheDatabases: until the last microsecond before its deadline, an award
// can be claimed and does not expire. From the deadline on, it expires and cannot be
// claimed. The clocks of the instances do not matter. A longer claim period also applies
// to open awards.
func TestDeadlinesAreTheDatabases(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			d := newStopped(t, dialect, 0)
			require.Empty(t, d.judgeDeadlines(t))
			stocktest.NoViolations(t, d.store(1), "p")
		})
	}
}

// TestDeadlinesCatch: the test fails for instances that use their own clocks, which are
// 90 s fast or slow. It also fails for an instance that accepts a claim exactly at the
// deadline.
func TestDeadlinesCatch(t *testing.T) {
	t.Parallel()
	for by, fault := range map[time.Duration]string{
		90 * time.Second:  "an award expired 1ms before its deadline",
		-90 * time.Second: "a claim was accepted 1ms after the deadline",
		-time.Microsecond: "a claim was accepted 0s after the deadline",
	} {
		require.Contains(t, newStopped(t, "sqlite", by).judgeDeadlines(t), fault)
	}
}

// newRunning opens a database whose clock runs.
func newRunning(t *testing.T, dialect string) deadlines {
	url := stocktest.Migrated(t, dialect)
	if dialect == "sqlite" {
		return deadlines{stores: []*stock.Store{stocktest.Open(t, url, stock.Options{})}}
	}
	return deadlines{stores: openThree(t, stock.DialectOf(dialect), url)}
}

// TestClaimedOrExpired: awards are claimed around their deadlines while all instances
// expire due awards. The runs of one instance are interrupted repeatedly. Each award is
// claimed or expires, in time, and each accepted claim has its step.
func TestClaimedOrExpired(t *testing.T) {
	const batches, size, apart = 20, 6, 50 * time.Millisecond
	before := []time.Duration{2500, 1000, 600, 300, 150, 80, 40, 20, 10, 5, 2, 0, -5} // in milliseconds
	const awards = batches * size
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			d := newRunning(t, dialect)
			s := d.store(1)
			stocktest.Pool(t, s, "p", awards)
			setClaims(t, s, `{"claims":{"within":"3s","return":false}}`)
			made := d.award(t, batches, size, s.Now().Add(time.Second).UTC().Truncate(time.Microsecond), apart)
			last := made[awards-1].At.Add(3 * time.Second)
			var all sync.WaitGroup
			for i := range wrongBy() {
				all.Go(func() {
					for s.Now().Before(last.Add(100 * time.Millisecond)) {
						d.expireFor(t, i, i == 2)
						time.Sleep(10 * time.Millisecond)
					}
				})
			}
			accepted := make([]bool, awards)
			for n := range made {
				until := made[n].At.Add(3 * time.Second)
				all.Go(func() {
					time.Sleep(until.Sub(s.Now()) - before[n%len(before)]*time.Millisecond)
					switch err := d.claim(t, n); draw.CodeOf(err) {
					case draw.CodeClaimExpired, draw.CodeAwardEnded:
					default:
						if accepted[n] = err == nil; err != nil {
							t.Error(err)
						}
					}
				})
			}
			all.Wait()
			d.expire(t)
			claimed := judgeClaims(t, s, made, accepted)
			t.Logf("%d of %d awards were claimed", claimed, awards)
			require.Positive(t, claimed)
			require.Less(t, claimed, awards)
			stocktest.NoViolations(t, s, "p")
		})
	}
}

// expireFor runs the expiry of due awards on an instance. If isCut is set, the expiry is
// interrupted after some milliseconds.
func (d deadlines) expireFor(t *testing.T, i int, isCut bool) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	if isCut {
		ctx, end = context.WithTimeout(ctx, 4*time.Millisecond)
		defer end()
	}
	if _, _, err := d.store(i).Expire(ctx, "p"); err != nil && !isCut {
		t.Error(err)
	}
}

// judgeClaims requires exactly one step for each award, in time and equal to the answer
// that the caller got. It returns the number of claimed awards.
func judgeClaims(t *testing.T, s *stock.Store, made []draw.Award, accepted []bool) (claimed int) {
	t.Helper()
	for n, a := range made {
		l, err := s.Life(t.Context(), "p", a.Version)
		require.NoError(t, err)
		require.Len(t, l.Steps, 1, "award %d", n)
		isLate := !l.Steps[0].At.Before(a.At.Add(3 * time.Second))
		require.Equal(t, isLate, l.State == draw.AwardExpired, "award %d is %s at %v, %v before its deadline", n, l.State, l.Steps[0].At, a.At.Add(2*time.Second).Sub(l.Steps[0].At))
		require.Equal(t, accepted[n], l.State == draw.AwardClaimed, "award %d", n)
		if accepted[n] {
			claimed++
		}
	}
	return claimed
}

// TestExtensionsPrecedeExpiry: if a longer time comes into force while an expiry waits,
// the expiry does not end the awards to which that time applies.
func TestExtensionsPrecedeExpiry(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} { // an SQLite file has one writer
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			d := newRunning(t, dialect)
			s := d.store(1)
			stocktest.Pool(t, s, "p", 2)
			setClaims(t, s, `{"claims":{"within":"1s","return":false}}`)
			made := d.award(t, 1, 2, s.Now().UTC().Truncate(time.Microsecond), 0)
			require.NoError(t, d.claim(t, 0)) // this creates the head of the pool's steps
			time.Sleep(made[1].At.Add(1100 * time.Millisecond).Sub(s.Now()))
			tx, err := s.LockDB().BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer func() { _ = tx.Rollback() }()
			_, err = tx.ExecContext(t.Context(), `UPDATE step_heads SET settled = settled WHERE pool_id = 'p'`)
			require.NoError(t, err)
			_, err = tx.ExecContext(t.Context(), `SELECT n FROM step_heads WHERE pool_id = 'p' FOR UPDATE`)
			require.NoError(t, err)
			ended := make(chan int)
			go func() {
				n, _, err := d.store(0).Expire(t.Context(), "p")
				if err != nil {
					t.Error(err)
				}
				ended <- n
			}()
			time.Sleep(300 * time.Millisecond) // until the expiry waits for the head
			setClaims(t, d.store(2), `{"claims":{"within":"1h","return":false}}`)
			require.NoError(t, tx.Rollback())
			require.Zero(t, <-ended)
			require.NoError(t, d.claim(t, 1))
			stocktest.NoViolations(t, s, "p")
		})
	}
}
