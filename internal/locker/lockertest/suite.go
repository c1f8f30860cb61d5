package lockertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Check is one promise of the contract.
type Check struct {
	Name string
	run  func(b *bench) error
}

// Checks returns all promises that need no fault of the lock's server.
func Checks() []Check {
	return []Check{
		{"one at a time", exclusion},
		{"many keys", manyKeys},
		{"token outlives its holder", tokenOutlives},
		{"killed holder", killedHolder},
		{"paused holder", pausedHolder},
		{"renewal", renewal},
		{"try once", tryOnce},
		{"wait limit", waitLimit},
		{"cancelled wait", cancelledWait},
		{"re-entrant by context", reentrant},
		{"in-process queue", inProcessQueue},
		{"order of service", orderOfService},
		{"hand-over", handOver},
		{"wake-ups", wakeUps},
	}
}

// Run runs every check on the subject.
func Run(t *testing.T, s Subject) {
	b, err := newBench(t, s)
	require.NoError(t, err)
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) { require.NoError(t, b.steadily(t, c)) })
	}
}

// Catches runs only the named check on the subject, and returns the check's error. nil
// means that the subject has passed.
func Catches(t *testing.T, s Subject, name string) error {
	b, err := newBench(t, s)
	require.NoError(t, err)
	for _, c := range Checks() {
		if c.Name == name {
			return b.check(t.Context(), c)
		}
	}
	require.Fail(t, "there is no such check", name)
	return nil
}

// processes is the number of processes that contend.
const processes = 3

// bench contains what the checks of a subject use.
type bench struct {
	Subject
	tb        testing.TB
	ctx       context.Context // of the check that is running
	key       string          // of the check that is running
	processes [processes]*process
	vault     *vault
	result    *Result
}

// newBench starts the processes, which end with the test.
func newBench(tb testing.TB, s Subject) (*bench, error) {
	v, err := newVault(tb)
	if err != nil {
		return nil, err
	}
	b := &bench{Subject: s, tb: tb, vault: v, result: newResult(tb, s)}
	tb.Cleanup(func() {
		for _, p := range b.processes {
			if p != nil {
				p.kill()
			}
		}
	})
	for i := range b.processes {
		if b.processes[i], err = startProcess(s); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// checkMax is the time after which a check counts as hanging.
const checkMax = 60 * time.Second

func (b *bench) check(ctx context.Context, c Check) error {
	ctx, cancel := context.WithTimeout(ctx, checkMax)
	defer cancel()
	b.ctx, b.key = ctx, c.Name
	done := make(chan error, 1)
	go func() { done <- c.run(b) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("it hangs: %w", ctx.Err())
	}
}

// steadily runs a check on the subject. Each repetition uses another key and longer
// leases. After a failure, processes that hold a lock or are paused are replaced.
func (b *bench) steadily(t *testing.T, c Check) error {
	return steady(t, func(attempt int) error {
		if attempt > 1 {
			c.Name += "'"
			b.Subject = b.slower()
			for i := range b.processes {
				b.processes[i].kill()
				if err := b.restart(i); err != nil {
					return err
				}
			}
		}
		return b.check(t.Context(), c)
	})
}

// restart replaces a process that was killed.
func (b *bench) restart(i int) (err error) {
	b.processes[i], err = startProcess(b.Subject)
	return err
}

// open opens a lock in this process. It is closed when the test ends.
func (b *bench) open(wait time.Duration) (*opened, error) { return b.openAs(b.Subject, wait) }

func (b *bench) openAs(s Subject, wait time.Duration) (*opened, error) {
	l, err := s.open(b.ctx, wait)
	if err == nil {
		b.tb.Cleanup(func() {
			if l.database != nil && l.database.LockDB().Stats().InUse > 0 {
				b.tb.Errorf("a lock that nobody holds has a connection in use")
			}
			_ = l.Close()
		})
	}
	return l, err
}

// openAll opens n locks with the same wait limit.
func (b *bench) openAll(n int, wait time.Duration) ([]*opened, error) {
	locks := make([]*opened, n)
	var errs []error
	for i := range locks {
		var err error
		locks[i], err = b.open(wait)
		errs = append(errs, err)
	}
	return locks, errors.Join(errs...)
}

// mustBeContended returns an error unless err is the error of a wait that timed out.
func mustBeContended(err error) error {
	if codeOf(err) != "contended" {
		return fmt.Errorf("wanted contended, got %w", orNil(err))
	}
	return nil
}

// orNil returns err, or an error with a text if err is nil.
func orNil(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}
