package job_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/job"
	"drawsvc/internal/locker"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// firingsVariable is the environment variable for the number of firings in
// [TestFiringsAreNeitherMissedNorRepeated].
const firingsVariable = "DRAWSVC_TEST_FIRINGS"

// campaign is a daily job of a fleet whose instances are killed, over years of simulated
// time.
type campaign struct {
	t        *testing.T
	rng      *rand.Rand
	schedule job.Schedule
	alive    atomic.Int64 // runs under way on instances that have not been killed
	overlaps atomic.Int64

	mu        sync.Mutex
	failed    map[string]int
	successes map[string]int
	tries     int
	killed    int
	// kill contains for each host the function that ends its instance.
	kill map[string]func()
}

// work takes up to two minutes. It fails or is killed at most twice on a day.
func (c *campaign) work(ctx context.Context, run job.Run) ([]byte, error) {
	if c.alive.Add(1) > 1 {
		c.overlaps.Add(1)
	}
	defer c.alive.Add(-1)
	c.mu.Lock()
	c.tries++
	day, long, fate := c.schedule.Day(run.Began), time.Duration(c.rng.Int64N(int64(2*time.Minute))), c.rng.IntN(4)
	fails, dies := fate == 0 && c.failed[day] < 2, fate == 1 && c.failed[day] < 2
	if fails || dies {
		c.failed[day]++
	}
	if dies {
		c.killed++
		time.AfterFunc(long/2, c.kill[run.Host])
	}
	c.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(long):
	}
	if fails {
		return nil, errors.New("not today")
	}
	return nil, nil
}

// mortal is the database of an instance that may be killed. A killed instance writes
// nothing more.
type mortal struct {
	job.Runs
	campaign *campaign
	dead     atomic.Bool
}

var errDead = errors.New("the instance is dead")

func (m *mortal) BeginJob(ctx context.Context, name, host string) (job.Run, bool, error) {
	if m.dead.Load() {
		return job.Run{}, false, errDead
	}
	return m.Runs.BeginJob(ctx, name, host)
}

func (m *mortal) HearJob(ctx context.Context, run job.Run) (time.Duration, error) {
	if m.dead.Load() {
		return 0, errDead
	}
	return m.Runs.HearJob(ctx, run)
}

func (m *mortal) FinishJob(ctx context.Context, run job.Run, o job.Outcome) error {
	if m.dead.Load() {
		return errDead
	}
	err := m.Runs.FinishJob(ctx, run, o)
	if err == nil && o.Result == job.ResultOK {
		c := m.campaign
		c.mu.Lock()
		defer c.mu.Unlock()
		c.successes[c.schedule.Day(run.Began)]++
	}
	return err
}

// forgetful is a database that does not record the day of a success.
type forgetful struct{ job.Runs }

func (f forgetful) FinishJob(ctx context.Context, run job.Run, o job.Outcome) error {
	if o.Result == job.ResultOK {
		o.Result = job.ResultLost
	}
	return f.Runs.FinishJob(ctx, run, o)
}

// passes runs a fleet of three instances for a number of firings, three on each day. The
// instances are killed from time to time.
func (c *campaign) passes(firings int, edit func(job.Runs) job.Runs) {
	url := stocktest.Migrated(c.t, "sqlite")
	s, err := stock.Open(c.t.Context(), url, stock.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(c.t, err)
	lock, err := locker.Open(c.t.Context(), "table:", locker.Options{TTL: 10 * time.Minute, Database: s})
	require.NoError(c.t, err)
	daily := job.Definition{Name: "work", Schedule: "CRON_TZ=Europe/Berlin 0 1,2,3 * * *", Per: job.PerDay, Max: 2 * time.Hour, Do: c.work}
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(c.t.Context())
	for n := range 3 {
		all.Go(func() {
			for ctx.Err() == nil {
				m := &mortal{Runs: edit(s), campaign: c}
				r, err := job.New(job.Options{
					Rows: s, Runs: m, Locker: lock, Observer: quiet{}, Log: slog.New(slog.DiscardHandler),
					Host: fmt.Sprint("host-", n), Jobs: []job.Definition{daily}, Poll: 20 * time.Minute,
				})
				require.NoError(c.t, err)
				lives, end := context.WithCancel(ctx)
				c.mu.Lock()
				away := time.Duration(c.rng.Int64N(int64(3 * time.Hour)))
				c.kill[fmt.Sprint("host-", n)] = func() { m.dead.Store(true); end() }
				c.mu.Unlock()
				r.Run(lives)
				end()
				time.Sleep(away)
			}
		})
	}
	time.Sleep(time.Duration(firings) * 8 * time.Hour)
	cancel()
	all.Wait()
	require.NoError(c.t, lock.Close())
	require.NoError(c.t, s.Close())
}

// judge returns the faults: overlapping runs, days with two successes, and days without a
// success.
func (c *campaign) judge(firings int) string {
	days := firings / 3
	missed := days - 2 - len(c.successes) // the first and the last day are incomplete
	twice := 0
	for _, n := range c.successes {
		if n > 1 {
			twice++
		}
	}
	c.t.Logf("%d firings, %d runs, %d of them killed, %d days with a success, %d with two, %d missed, %d overlaps",
		firings, c.tries, c.killed, len(c.successes), twice, max(missed, 0), c.overlaps.Load())
	if missed > 0 || twice > 0 || c.overlaps.Load() > 0 {
		return fmt.Sprintf("%d missed, %d twice, %d overlaps", missed, twice, c.overlaps.Load())
	}
	return ""
}

func newCampaign(t *testing.T) *campaign {
	t.Helper()
	schedule, err := job.Parse("CRON_TZ=Europe/Berlin 0 1,2,3 * * *")
	require.NoError(t, err)
	return &campaign{
		t: t, rng: rand.New(rand.NewPCG(1, 2)), schedule: schedule, failed: map[string]int{}, successes: map[string]int{}, kill: map[string]func(){},
	}
}

// TestFiringsAreNeitherMissedNorRepeated: one of three instances is killed in about every
// fourth run. Every day has exactly one success, and no runs overlap. The test detects a
// database that does not record the day of a success.
//
// DRAWSVC_TEST_FIRINGS=10000 makes 10,000 firings; the default is 300.
func TestFiringsAreNeitherMissedNorRepeated(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	firings := 300
	if text := os.Getenv(firingsVariable); text != "" {
		var err error
		firings, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	t.Run("in order", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := newCampaign(t)
			c.passes(firings, func(r job.Runs) job.Runs { return r })
			require.Empty(t, c.judge(firings))
		})
	})
	t.Run("the double is caught", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			c := newCampaign(t)
			c.passes(9, func(r job.Runs) job.Runs { return forgetful{r} })
			require.NotEmpty(t, c.judge(9))
		})
	})
}
