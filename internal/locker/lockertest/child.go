package lockertest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
)

// childVariable is an environment variable of a process that the suite starts to hold
// locks. It contains the subject.
const childVariable = "DRAWSVC_LOCKERTEST_CHILD"

// Main is for TestMain. In a process that the suite has started it holds locks; otherwise
// it runs the tests.
func Main(m *testing.M) int {
	logging.Disable() // it would report servers that the suite has killed
	spec := os.Getenv(childVariable)
	if spec == "" {
		servertest.ManyAtOnce()
		return m.Run()
	}
	var s Subject
	if err := json.Unmarshal([]byte(spec), &s); err != nil {
		return 2
	}
	c := &child{subject: s, locks: map[lockID]*opened{}, holds: map[int]*childHold{}, out: json.NewEncoder(os.Stdout)}
	if err := c.serve(os.Stdin); err != nil {
		return 1
	}
	return 0
}

// command is a command of the suite to a process.
type command struct {
	ID int
	// Do is "hold" or, for a hold that was requested earlier, "release" or "cancel".
	Do string
	// Lock is the index of one of the process's instances of the lock.
	Lock int
	Key  string
	Wait time.Duration
}

// report is a message from the process about a hold.
type report struct {
	ID int
	// What is "held" first, then "lost" if the context has ended, and finally "done".
	What  string
	Token int64
	// Code is the error of WithLock: "" for none, "canceled" if the caller's context was
	// canceled, or a code of package draw. Text is the error as people read it.
	Code, Text string
	// At is the wall clock in nanoseconds at the time when the lock was held, or when the
	// holder's function returned.
	At int64
}

type lockID struct {
	number int
	wait   time.Duration
}

// child holds locks for the suite.
type child struct {
	subject Subject

	mu    sync.Mutex // guards all fields below
	locks map[lockID]*opened
	holds map[int]*childHold
	out   *json.Encoder
}

type childHold struct {
	cancel  context.CancelFunc
	release chan struct{}
}

// serve executes commands until its input ends. That also happens if the suite's process
// dies.
func (c *child) serve(in io.Reader) error {
	commands := json.NewDecoder(in)
	for {
		var cmd command
		if err := commands.Decode(&cmd); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		c.obey(cmd)
	}
}

func (c *child) obey(cmd command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.holds[cmd.ID]
	switch {
	case cmd.Do == "hold":
		ctx, cancel := context.WithCancel(context.Background())
		h = &childHold{cancel: cancel, release: make(chan struct{})}
		c.holds[cmd.ID] = h
		go c.hold(ctx, cmd, h)
	case h == nil: // the hold is already done
	case cmd.Do == "release":
		close(h.release)
	case cmd.Do == "cancel":
		h.cancel()
	}
}

func (c *child) hold(ctx context.Context, cmd command, h *childHold) {
	defer h.cancel()
	var at int64
	err := c.withLock(ctx, cmd, func(ctx context.Context, token int64) error {
		c.say(report{ID: cmd.ID, What: "held", Token: token, At: time.Now().UnixNano()})
		select {
		case <-ctx.Done():
			c.say(report{ID: cmd.ID, What: "lost", Token: token, At: time.Now().UnixNano()})
			<-h.release
		case <-h.release:
		}
		at = time.Now().UnixNano()
		return nil
	})
	r := report{ID: cmd.ID, What: "done", At: at}
	if err != nil {
		r.Code, r.Text = codeOf(err), err.Error()
	}
	c.say(r)
}

func (c *child) withLock(ctx context.Context, cmd command, fn func(ctx context.Context, token int64) error) error {
	c.mu.Lock()
	id := lockID{cmd.Lock, cmd.Wait}
	l := c.locks[id]
	if l == nil {
		var err error
		if l, err = c.subject.open(ctx, cmd.Wait); err != nil {
			c.mu.Unlock()
			return err
		}
		c.locks[id] = l
	}
	c.mu.Unlock()
	return l.WithLock(ctx, cmd.Key, fn)
}

func (c *child) say(r report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.What == "done" {
		delete(c.holds, r.ID)
	}
	_ = c.out.Encode(r) // after its end, the suite reads no report
}

// codeOf returns the code by which an error is reported.
func codeOf(err error) string {
	switch {
	case err == nil:
		return ""
	case err == context.Canceled || err == context.DeadlineExceeded: //nolint:errorlint // WithLock returns the caller's own as it is
		return "canceled"
	}
	return string(draw.CodeOf(err))
}
