package job_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

// once is a lock that only its first caller gets. For later callers, another instance has
// it.
type once struct {
	tries atomic.Int64
	// tried is called after each refusal, unless nil.
	tried func()
}

func (o *once) WithLock(ctx context.Context, _ string, fn func(context.Context, int64) error) error {
	if o.tries.Add(1) == 1 {
		return fn(ctx, 1)
	}
	if o.tried != nil {
		o.tried()
	}
	return draw.Errorf(draw.CodeContended, "another instance has the lock")
}

// TestSchedulesOfASecondAreKept: a job runs every second even if the rows are read
// seldom, because the end of a run wakes the runner. An earlier version of the runner ran
// it only once.
func TestSchedulesOfASecondAreKept(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		var runs atomic.Int64
		options := f.options(0, definition(func(context.Context, job.Run) ([]byte, error) {
			runs.Add(1)
			return nil, nil
		}))
		options.Poll = time.Hour
		r, _ := startWakeable(t, options)
		r.Wake() // the first read
		eventually(t, "five runs", func() bool { return runs.Load() >= 5 })
	})
}

// TestATakenLockIsNotTriedWithoutPause: after a run, a runner finds that another instance
// has the lock. It tries the lock again only at its next poll. The broken double wakes
// after every try.
func TestATakenLockIsNotTriedWithoutPause(t *testing.T) {
	t.Parallel()
	for _, double := range []bool{false, true} {
		f, taken := newFleet(t, "sqlite", "table", 1), &once{}
		options := f.options(0, definition(func(context.Context, job.Run) ([]byte, error) { return nil, nil }))
		options.Poll, options.Locker = time.Hour, taken
		r, _ := startWakeable(t, options)
		if double {
			taken.tried = r.Wake
		}
		r.Wake()
		eventually(t, "a run", func() bool { return !f.row("work").LastSuccess.IsZero() })
		eventually(t, "the job is due again", func() bool { return !time.Now().Before(f.row("work").DueAt) })
		before := taken.tries.Load()
		r.Wake()
		eventually(t, "the lock is asked", func() bool { return taken.tries.Load() > before })
		if double {
			eventually(t, "the double to be caught", func() bool { return taken.tries.Load() > 5 })
			continue
		}
		require.Never(t, func() bool { return taken.tries.Load() > before+1 }, 2*time.Second, 50*time.Millisecond)
	}
}
