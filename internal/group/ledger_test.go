package group

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// ledger decides batches in memory, as a mode does on a database. before, if set, runs
// before each write and may stop, fail or break it.
type ledger struct {
	before func(*urn.Plan) error
	// asked, when set, runs before each lookup in the log.
	asked func()
	// secrets, if set, are the secrets of every pool.
	secrets *urn.Secrets
	// goesOn makes one call of Issue decide the following batches too.
	goesOn bool

	mu      sync.Mutex
	pools   map[string]*draw.Pool
	heads   map[string]draw.Head
	draws   map[string]draw.Draw // by pool, slash and draw
	batches []int
	lookups int
}

// The errors that the function before may return. Either the plan was written and the
// response was lost, or another writer was first. Any other error ends the batch.
var (
	errLostAnswer = errors.New("written, but not answered")
	errTooLate    = errors.New("not written")
)

func newLedger(pools ...draw.Pool) *ledger {
	l := &ledger{pools: map[string]*draw.Pool{}, heads: map[string]draw.Head{}, draws: map[string]draw.Draw{}}
	for _, p := range pools {
		p.State = draw.StateOpen
		p.Version = int64(len(p.Prizes))
		l.pools[p.ID] = &p
	}
	return l
}

// poolOf returns a pool whose prizes p0, p1 … have the given stock.
func poolOf(id string, stock ...int64) draw.Pool {
	p := draw.Pool{ID: id, Name: id}
	for i, n := range stock {
		p.Prizes = append(p.Prizes, draw.Prize{ID: fmt.Sprintf("p%d", i), Name: "Prize", Stocked: n})
	}
	return p
}

func (l *ledger) Issue(ctx context.Context, b *Batch) error {
	b.SetMode("ledger")
	for {
		if err := l.decide(ctx, b); err != nil {
			return err
		}
		if !l.goesOn || !b.Next() {
			return nil
		}
	}
}

func (l *ledger) decide(ctx context.Context, b *Batch) error {
	l.mu.Lock()
	l.batches = append(l.batches, b.Draws())
	l.mu.Unlock()
	for {
		if err := l.read(b.Urn); err != nil {
			return err
		}
		if l.secrets != nil {
			b.Urn.SetSecrets(*l.secrets)
		}
		plan, err := b.Plan(ctx, time.Now(), l, false)
		if err != nil {
			return err
		}
		if err := learn(ctx, plan, l); err != nil {
			return err
		}
		if l.before != nil {
			err = l.before(plan)
		}
		switch {
		case errors.Is(err, errTooLate):
			b.Undo(plan)
		case err != nil && !errors.Is(err, errLostAnswer):
			b.Undo(plan)
			return err
		case !l.write(plan):
			b.Undo(plan)
			b.KnownKey()
		case err != nil:
			b.InDoubt(plan)
		default:
			b.Settle(plan)
			return nil
		}
	}
}

func (l *ledger) read(u *urn.Urn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	pool := l.pools[u.PoolID]
	if pool == nil {
		return draw.Errorf(draw.CodePoolNotFound, "there is no pool %q", u.PoolID)
	}
	head := l.heads[u.PoolID]
	if pool.Version != head.Version { // a test changed the pool
		head = head.Next(int(pool.Version - head.Version))
		l.heads[u.PoolID] = head
	}
	for !u.Seen(urn.Snapshot{State: pool.State, Head: head, Prizes: pool.Prizes}) {
	}
	return nil
}

// Turns implements Log: the tests' pools have no rules.
func (l *ledger) Turns(context.Context, *urn.Urn, []urn.Need) (*urn.Facts, error) {
	return urn.NewFacts(nil), nil
}

// Draws implements Log.
func (l *ledger) Draws(_ context.Context, poolID string, ids []string) (map[string]draw.Draw, error) {
	if l.asked != nil {
		l.asked()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookups++
	known := map[string]draw.Draw{}
	for _, id := range ids {
		if d, ok := l.draws[poolID+"/"+id]; ok {
			known[id] = d
		}
	}
	return known, nil
}

// write reports whether it wrote the plan. It does not if the log has one of the plan's
// draws.
func (l *ledger) write(p *urn.Plan) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range p.Awards {
		if _, known := l.draws[p.PoolID+"/"+a.DrawID]; known {
			return false
		}
	}
	pool := l.pools[p.PoolID]
	if len(p.Awards) > 0 && pool.Version != p.From.Version {
		panic("the ledger is written by one queue at a time")
	}
	for _, a := range p.Awards {
		d := l.draws[p.PoolID+"/"+a.DrawID]
		d.ID, d.PoolID, d.UserID = a.DrawID, p.PoolID, a.UserID
		d.Awards = append(d.Awards, a)
		l.draws[p.PoolID+"/"+a.DrawID] = d
	}
	pool.Version += int64(len(p.Awards))
	if len(p.Awards) > 0 {
		l.heads[p.PoolID] = p.To
	}
	for _, c := range p.Raises {
		for i := range pool.Prizes {
			if pool.Prizes[i].ID == c.PrizeID {
				pool.Prizes[i].Issued += c.Issued
			}
		}
	}
	return true
}

func (l *ledger) set(poolID string, change func(*draw.Pool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.pools[poolID])
}

// issued returns the number of units that the pool has issued, according to the log.
func (l *ledger) issued(poolID string) (units int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.draws {
		if d.PoolID == poolID {
			units += len(d.Awards)
		}
	}
	return units
}

// watcher is an Observer that counts.
type watcher struct {
	mu       sync.Mutex
	gathered []int
	answered map[string]int
	settled  int
}

func (y *watcher) Gathered(draws, _ int, waited time.Duration) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if waited < 0 {
		panic("waited for less than nothing")
	}
	y.gathered = append(y.gathered, draws)
}

func (y *watcher) Answered(mode, outcome string, draws int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.answered == nil {
		y.answered = map[string]int{}
	}
	y.answered[mode+" "+outcome] += draws
}

func (y *watcher) DoubtSettled(draws int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.settled += draws
}

// patience bounds every wait of a test; normally no wait takes that long.
const patience = 2 * time.Minute

// newTestBatcher drains the batcher when the test ends, so that nothing is left.
func newTestBatcher(t *testing.T, issuer Issuer, limits Limits) (*Batcher, *watcher) {
	if limits.BatchMax == 0 {
		limits.BatchMax = 512
	}
	if limits.QueueMax == 0 {
		limits.QueueMax = 4096
	}
	if limits.Timeout == 0 {
		limits.Timeout = patience
	}
	seen := &watcher{}
	b := NewBatcher(issuer, seen, limits)
	t.Cleanup(func() { drain(t, b) })
	return b, seen
}

// drain waits for the batcher's workers.
func drain(t *testing.T, b *Batcher) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, b.Drain(ctx))
}

// named returns a request for one unit with a caller's key.
func named(id string) draw.Request {
	return draw.Request{PoolID: "p", UserID: "u", DrawID: id, Named: true, Count: 1}
}

// code fails the test unless err has the code.
func code(t *testing.T, want draw.Code, err error) {
	t.Helper()
	require.Equal(t, want, draw.CodeOf(err), "%v", err)
}

// receive takes from a channel, or fails if nothing arrives.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}
