package hook

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sort"
	"sync"
	"time"

	"drawsvc/internal/job"
)

const (
	// JobName is the name of the job that sends events.
	JobName = "hooks"
	// runMax is the duration of a run. staleAfter is the StaleAfter of the job.
	runMax     = 10 * time.Minute
	staleAfter = 30 * time.Second
	// pollEvery is the interval at which the heads of all pools are read. pollMin is the
	// minimum interval while pools wait for a free place.
	pollEvery = time.Second
	pollMin   = 50 * time.Millisecond
	// underWayMax is the maximum number of messages that are under way to one hook.
	underWayMax = 8
	// readsMax is the maximum number of concurrent reads of a relay.
	readsMax = 4
	// turnMax is the time after which a pool gives its place at a hook to another pool.
	turnMax = 2 * time.Second
	// readMax bounds one read or write of the database.
	readMax = 10 * time.Second
)

// Feed contains the relay's reads and writes of the database.
type Feed interface {
	Senders
	Source
}

// Senders are the hooks and their cursors.
type Senders interface {
	// HooksOn returns the hooks that are on, with their secrets.
	HooksOn(ctx context.Context) ([]Hook, error)
	// MoveCursor replaces the stored cursor, which must still equal from. The hook must be
	// on and at the revision. It reports whether it wrote.
	MoveCursor(ctx context.Context, revision int64, from, to *Cursor) (moved bool, err error)
	// EndHook turns a hook off, if it is at the revision.
	EndHook(ctx context.Context, hookID string, revision int64, why Why) error
}

// Source reads events.
type Source interface {
	// Waiting returns, by one query, the cursors of hooks that have not reached the heads of
	// their pools. It leaves out forked cursors, and cursors whose next attempt is due later
	// than now. It includes pools for which no cursor is stored.
	Waiting(ctx context.Context, hooks []Hook, now time.Time) ([]Cursor, error)
	// ReadPage reads a pool's events after one place and up to another. If upTo is the zero
	// place, it reads up to a limited number of entries. Error: CodePoolNotFound.
	ReadPage(ctx context.Context, poolID string, after, upTo Place) (Page, error)
}

// Observer is notified of the relay's actions.
type Observer interface {
	// Attempted is called after each attempt.
	Attempted(hookID string, a *Answer)
}

// Relay sends events.
type Relay struct {
	Feed     Feed
	Sender   *Sender
	Observer Observer
	Log      *slog.Logger
	// Now returns the database's time.
	Now func() time.Time
	// HasHooks reports whether any hook is on.
	HasHooks func(ctx context.Context) bool
}

// Job returns the job that sends events. It runs only if a hook is on.
func (r *Relay) Job() job.Definition {
	return job.Definition{
		Name: JobName, Schedule: "every 1s", Per: job.PerRun, Max: runMax + attemptMax + 2*readMax, StaleAfter: staleAfter, IsWanted: r.HasHooks,
		Do: func(ctx context.Context, _ job.Run) ([]byte, error) { return nil, r.run(ctx) },
	}
}

// sending is one run of the relay.
type sending struct {
	*Relay
	reads chan struct{}
	wake  chan struct{}

	mu sync.Mutex
	// busy contains for each hook the pools whose events are being sent. last contains the
	// pool that was begun last.
	busy  map[string]map[string]bool
	last  map[string]string
	state map[string]State
	work  sync.WaitGroup
}

// run sends events until the time of a run is over, no hook is on, or ctx ends.
func (r *Relay) run(ctx context.Context) error {
	s := &sending{
		Relay: r, reads: make(chan struct{}, readsMax), wake: make(chan struct{}, 1),
		busy: map[string]map[string]bool{}, last: map[string]string{}, state: map[string]State{},
	}
	defer s.Sender.Close()
	defer s.work.Wait()
	for ends := time.Now().Add(runMax); time.Now().Before(ends); {
		isLeft, isOn, err := s.poll(ctx)
		if err != nil || !isOn {
			return err
		}
		if err := s.pause(ctx, isLeft); err != nil {
			return err
		}
	}
	return nil
}

// pause waits for the next poll. If pools wait for a place, it ends soon after one is
// free.
func (s *sending) pause(ctx context.Context, isLeft bool) error {
	next, soonest := time.After(pollEvery), time.After(pollMin)
	wake := s.wake
	if !isLeft {
		wake = nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-next:
		return nil
	case <-wake:
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-soonest:
		return nil
	}
}

// poll begins the due pools. isLeft reports whether pools wait for a free place.
func (s *sending) poll(ctx context.Context) (isLeft, isOn bool, err error) {
	bounded, end := context.WithTimeout(ctx, readMax)
	defer end()
	hooks, err := s.Feed.HooksOn(bounded)
	if err != nil || len(hooks) == 0 {
		return false, false, err
	}
	waiting, err := s.Feed.Waiting(bounded, hooks, s.Now())
	if err != nil {
		return false, true, err
	}
	of := map[string][]Cursor{}
	for i := range waiting {
		of[waiting[i].HookID] = append(of[waiting[i].HookID], waiting[i])
	}
	for i := range hooks {
		if s.begin(ctx, hooks[i], of[hooks[i].ID]) {
			isLeft = true
		}
	}
	return isLeft, true, nil
}

// begin begins to send the events of a hook's pools, in rotation, while places are free.
// It reports whether pools are left.
func (s *sending) begin(ctx context.Context, h Hook, waiting []Cursor) (isLeft bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[h.ID] == nil {
		s.busy[h.ID] = map[string]bool{}
	}
	last := s.last[h.ID]
	sort.Slice(waiting, func(a, b int) bool { // pools after the last one come first
		x, y := waiting[a].PoolID, waiting[b].PoolID
		if (x > last) != (y > last) {
			return x > last
		}
		return x < y
	})
	for _, c := range waiting {
		if s.busy[h.ID][c.PoolID] {
			continue
		}
		if len(s.busy[h.ID]) >= underWayMax {
			return true
		}
		s.busy[h.ID][c.PoolID], s.last[h.ID] = true, c.PoolID
		s.work.Go(func() { s.turn(ctx, h, c) })
	}
	return false
}

// turn sends the events of one pool to one hook, message by message.
func (s *sending) turn(ctx context.Context, h Hook, c Cursor) {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy[h.ID], c.PoolID)
		select {
		case s.wake <- struct{}{}:
		default: // a wake-up is already pending
		}
	}()
	m := &mover{sending: s, hook: &h, stored: c}
	for ends := time.Now().Add(turnMax); ctx.Err() == nil; {
		goesOn, err := m.step(ctx, time.Now().Before(ends))
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("events of a pool could not be read or passed; they are tried again", "hook", h.ID, "pool", c.PoolID, "error", err)
		}
		if err != nil || !goesOn {
			return
		}
	}
}

// note logs a state of a hook when it changes.
func (s *sending) note(h *Hook, state State, why string) {
	s.mu.Lock()
	before, known := s.state[h.ID]
	s.state[h.ID] = state
	s.mu.Unlock()
	if before == state || !known && state == StateOn {
		return
	}
	if state == StateOn {
		s.Log.Info("a hook is sent to again", "hook", h.ID)
		return
	}
	s.Log.Warn("a hook has another state", "hook", h.ID, "state", string(state), "why", why)
}

// jitter returns a random part for [WaitAfter].
func jitter() float64 { return rand.Float64() }
