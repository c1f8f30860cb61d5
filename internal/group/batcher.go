package group

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// Issuer decides batches; each lock mode is an Issuer. Issue plans b, applies and
// settles it, and may continue with b.Next while it holds its lock. An error means that
// the current batch is not settled.
type Issuer interface {
	Issue(ctx context.Context, b *Batch) error
}

// Observer is notified of batches and answers, for metrics.
type Observer interface {
	// Gathered is called when a batch is decided. draws is the number of its draws. users
	// is the number of users whose turns were read for it. waited is how long the first
	// draw had waited when it was taken.
	Gathered(draws, users int, waited time.Duration)
	// Answered is called with the number of draws of one mode that had one outcome:
	// OutcomeWon, OutcomeBlank, OutcomeReplayed or the code of a refusal.
	Answered(mode, outcome string, draws int)
	// DoubtSettled is called with the number of draws that were in doubt, because the
	// response to a commit was lost, and are now answered.
	DoubtSettled(draws int)
}

// The outcomes of draws that are not refused.
const (
	OutcomeWon = "won"
	// OutcomeBlank is a draw that gave only blanks.
	OutcomeBlank    = "blank"
	OutcomeReplayed = "replayed"
)

// Limits bound a Batcher.
type Limits struct {
	// BatchMax is the maximum number of draws in one transaction, at least 1.
	BatchMax int
	// QueueMax is the maximum number of draws that wait on one pool, at least 1.
	QueueMax int
	// Timeout is the longest that a caller waits for its answer.
	Timeout time.Duration
}

const (
	// batchUnitsMax bounds the rows of one transaction: no draw joins a batch that
	// already asks for this many units.
	batchUnitsMax = 8192
	// queuesMax and prizesMax bound the cached copies of idle pools, so that the next
	// draw need not read a whole pool.
	queuesMax = 4096
	prizesMax = 2_000_000
	// turnsMax bounds the pairs of a user and a kind whose turns all queues together
	// cache. With long names and full windows they use about 180 MB.
	turnsMax = 1 << 18
)

// Batcher gathers the draws that wait on a pool while its last batch commits, and
// passes them to the issuer as one batch. There is one queue for each active pool and
// no timer: an idle pool decides a draw at once, and a busy pool decides all draws that
// have arrived.
type Batcher struct {
	issuer   Issuer
	observer Observer
	limits   Limits
	// codes hands out the codes of awards; nil hands out none.
	codes Codes
	// tracer traces draws and batches; nil traces none.
	tracer trace.Tracer
	// prizesMax and turnsMax are the constants, and less in tests.
	prizesMax, turnsMax int64

	mu     sync.RWMutex // guards queues and draining; locked before a queue's mutex
	queues map[string]*queue
	// prizes and turns count what the queues cache. The prizes of a queue are counted
	// when it becomes idle, and its turns are counted after each of its batches.
	prizes, turns atomic.Int64
	draining      bool
	working       sync.WaitGroup
}

// NewBatcher returns a Batcher whose batches issuer decides.
func NewBatcher(issuer Issuer, observer Observer, limits Limits) *Batcher {
	return &Batcher{issuer: issuer, observer: observer, limits: limits, prizesMax: prizesMax, turnsMax: turnsMax, queues: map[string]*queue{}}
}

// Draw decides r and returns its answer once that is durable. It gives up when
// Limits.Timeout has passed or ctx ends. All its errors are *Error. CodeInvalidRequest,
// CodeKeyReused and the codes of the pool's state (CodePoolNotFound, CodePoolNotOpen,
// CodeSoldOut) refuse the draw. After CodeContended, CodeOverloaded, CodeDraining,
// CodeStoreUnavailable and CodeLockUnavailable nothing happened. After CodeOutcomeUnknown
// the draw may have happened.
func (b *Batcher) Draw(ctx context.Context, r draw.Request) (draw.Draw, error) {
	if err := r.Check(); err != nil {
		return draw.Draw{}, err
	}
	return b.DrawFor(ctx, "", r)
}

// DrawFor is Draw for a request that was already checked. requestID is the id of the
// request. The service's log names it if the draw's batch fails.
func (b *Batcher) DrawFor(ctx context.Context, requestID string, r draw.Request) (draw.Draw, error) {
	w := &waiter{Ask: urn.Ask{Request: r}, requestID: requestID, since: time.Now(), done: make(chan struct{})}
	b.follow(ctx, w)
	defer w.leave()
	if err := b.enqueue(w); err != nil {
		return draw.Draw{}, err
	}
	return w.wait(ctx)
}

func (b *Batcher) enqueue(w *waiter) error {
	b.mu.RLock()
	if q := b.queues[w.PoolID]; q != nil && !b.draining {
		defer b.mu.RUnlock()
		return q.push(w)
	}
	b.mu.RUnlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.draining {
		return w.unasked(draw.Errorf(draw.CodeDraining, "the service is shutting down; this request drew nothing"))
	}
	q := b.queues[w.PoolID]
	if q == nil {
		b.evict()
		q = newQueue(b, w.PoolID)
		b.queues[w.PoolID] = q
	}
	return q.push(w)
}

// evict drops the less recently used half of the idle queues if more is cached than the
// bounds allow. Otherwise it visits no queue. So draws from pools that do not exist do
// not become slower if many queues are cached.
func (b *Batcher) evict() {
	if len(b.queues) < queuesMax && b.prizes.Load() < b.prizesMax {
		return
	}
	idle := make([]*queue, 0, len(b.queues))
	for _, q := range b.queues {
		q.mu.Lock()
		if !q.working {
			idle = append(idle, q)
		}
		q.mu.Unlock()
	}
	// b.mu is locked for writing, so none of these queues can start to work.
	slices.SortFunc(idle, func(x, y *queue) int { return x.lastUsed.Compare(y.lastUsed) })
	for _, q := range idle[:(len(idle)+1)/2] {
		b.drop(q)
	}
}

// drop removes an idle queue. b.mu is held for writing.
func (b *Batcher) drop(q *queue) {
	delete(b.queues, q.batch.Urn.PoolID)
	b.prizes.Add(-q.prizes)
	b.turns.Add(-q.turns)
}

// boundTurns drops the cached turns of idle queues, and then those of q, if all queues
// together cache too many. q's worker calls it between batches.
func (b *Batcher) boundTurns(q *queue) {
	if q.countTurns(); b.turns.Load() <= b.turnsMax {
		return
	}
	b.mu.Lock()
	for _, other := range b.queues {
		other.mu.Lock()
		if !other.working {
			other.dropTurns()
		}
		other.mu.Unlock()
	}
	b.mu.Unlock()
	if b.turns.Load() > b.turnsMax {
		q.dropTurns()
	}
}

// dropUnread drops a queue whose pool was never read, so that draws on pools that do
// not exist use no memory afterwards.
func (b *Batcher) dropUnread(q *queue) {
	if !q.isUnread() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	// Another worker may have dropped q already, and another queue may be at work.
	if b.queues[q.batch.Urn.PoolID] == q && q.isUnread() {
		b.drop(q)
	}
}

// Waiting returns the number of draws without an answer, including those that are being
// decided, and how long the oldest has waited.
func (b *Batcher) Waiting() (draws int, oldest time.Duration) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	now := time.Now()
	for _, q := range b.queues {
		n, since := q.countUnanswered()
		if draws += n; n > 0 {
			oldest = max(oldest, now.Sub(since))
		}
	}
	return draws, oldest
}

// WaitingByPool returns the number of draws without an answer, for each pool that has
// some. unread is their number on pools that were not yet read from the database: the ids
// of such pools may be any text that callers sent.
func (b *Batcher) WaitingByPool() (waiting map[string]int, unread int) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	waiting = map[string]int{}
	for id, q := range b.queues {
		n, _ := q.countUnanswered()
		switch {
		case n == 0:
		case q.wasRead.Load():
			waiting[id] = n
		default:
			unread += n
		}
	}
	return waiting, unread
}

// Changed records that this process changed the pool, other than by a draw. The next draw
// then uses the changed pool, even if the pool was sold out.
func (b *Batcher) Changed(poolID string) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if q := b.queues[poolID]; q != nil {
		q.changed()
	}
}

// Drain refuses new draws, and waits for those that have no answer yet. If ctx ends
// first, it returns ctx's error.
func (b *Batcher) Drain(ctx context.Context) error {
	b.mu.Lock()
	b.draining = true
	b.mu.Unlock()
	done := make(chan struct{})
	go func() {
		b.working.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
