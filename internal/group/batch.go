package group

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// Batch is the draws of one pool that are decided together, in order of their arrival. A
// mode plans the batch, writes the plan and settles it. If the plan was not written, the
// mode undoes it, and may plan again. What the log knows about a draw is its
// [urn.LogAnswer]. A plan uses only answers from its own attempt.
type Batch struct {
	// Urn is the cached copy of the pool.
	Urn *urn.Urn

	queue   *queue
	waiters []*waiter
	asks    []*urn.Ask // of the waiters, as they are planned
	phase   phase
	// asksFirst means that the log is asked before the next plan. It is set if a write is
	// in doubt, or if a write of this batch or of an earlier one met a known key. Without
	// it, a large batch with a known key would be written twice.
	asksFirst bool
	// asOf is a moment before the pool was read for the last plan, or the moment at which
	// its row was locked. So what was read is the state at that moment or later.
	asOf time.Time
	// lookedUp is the number of users whose turns were read last.
	lookedUp int
	// waited is how long the first of the draws waited until it was taken.
	waited time.Duration
	// taken is when the batch was taken. It is zero for a draw that is retried by itself.
	// isFull means that some waiting draws were not taken.
	taken  time.Time
	isFull bool
	// stockings is the queue's count of stock moves when the batch was gathered.
	stockings int64
	// waitedInVain means that the batch was given up, in doubt or because of other
	// sessions. behindVain means the same of the batch before this one.
	waitedInVain, behindVain bool
	mode                     atomic.Pointer[string]
	// span is nil while no draw of the batch is traced; attempts counts its
	// transactions.
	span     trace.Span
	attempts int
}

// phase is the progress of a batch; see the package's documentation.
type phase int

const (
	// open means that no write of the batch can have been committed.
	open phase = iota
	// inDoubt means that a write of the batch may have been committed.
	inDoubt
	// settled means that every draw of the batch has been answered.
	settled
)

// Draws is the number of draws in the batch.
func (b *Batch) Draws() int { return len(b.waiters) }

// RequestIDs returns the ids of the batch's first requests, up to the given number.
func (b *Batch) RequestIDs(most int) []string {
	ids := make([]string, 0, min(most, len(b.waiters)))
	for _, w := range b.waiters {
		if len(ids) == most {
			break
		}
		if w.requestID != "" {
			ids = append(ids, w.requestID)
		}
	}
	return ids
}

// Next takes the draws that wait now, in place of the settled ones. It returns false if
// no draw waits, or if the batch is not settled.
func (b *Batch) Next() bool {
	if b.phase != settled {
		return false
	}
	b.endSpan()
	if !b.queue.take(b) {
		return false
	}
	b.follow(0)
	return true
}

// TopUp adds the draws that have arrived since the batch was taken: many may have arrived
// while it waited for a lock or to retry. A batch in doubt is not changed. TopUp is
// called before the pool or the log is read for the plan. On a locked row, Plan calls it.
func (b *Batch) TopUp() {
	b.asOf = time.Now()
	if b.phase == open {
		taken := len(b.waiters)
		b.queue.topUp(b)
		b.follow(taken)
	}
}

// Mode returns the name of the mode that decides the pool's batches, "" before the
// first batch.
func (b *Batch) Mode() string {
	if name := b.mode.Load(); name != nil {
		return *name
	}
	return ""
}

// SetMode records the name of the mode that decides the batch.
func (b *Batch) SetMode(name string) {
	if b.Mode() != name {
		b.mode.Store(&name)
	}
}

// fill resets the batch and gives it other waiters.
func (b *Batch) fill(waiters []*waiter) {
	clear(b.waiters)
	b.waiters = append(b.waiters[:0], waiters...)
	b.behindVain, b.waitedInVain = b.waitedInVain, false
	b.phase, b.asksFirst, b.lookedUp, b.asOf = open, false, 0, time.Now()
	b.taken, b.isFull = time.Time{}, false
}

// IsSettled reports whether every draw of the batch has been answered.
func (b *Batch) IsSettled() bool { return b.phase == settled }

// IsInDoubt reports whether a write of this batch may have been committed.
func (b *Batch) IsInDoubt() bool { return b.phase == inDoubt }

// WaitedInVain records that the batch was given up because of other sessions. The next
// batch may then have to wait too.
func (b *Batch) WaitedInVain() { b.waitedInVain = true }

// IsBehindVain reports whether the batch before this one waited in vain, or was given up
// in doubt. The draws of this batch may then have little time left.
func (b *Batch) IsBehindVain() bool { return b.behindVain }

// IsPlain reports whether the batch's pool was read before and no draw of it has to be
// looked up in the log before it is planned.
func (b *Batch) IsPlain() bool { return b.phase == open && b.Urn.Version > 0 && !b.asksFirst }

// CountsUsers reports whether the batch is planned from turns of users, because the last
// read rules of its pool count them.
func (b *Batch) CountsUsers() bool {
	return b.Urn.State == draw.StateOpen && len(b.Urn.Rules().Counted()) > 0
}

// IsPlainAt reports whether the batch is plain, and may be planned at the given time from
// the cached copy of its pool. It may not if another session seems to write to the pool,
// or if an item of its agenda is due.
func (b *Batch) IsPlainAt(now time.Time) bool {
	return b.IsPlain() && b.Urn.IsCached() && !b.Urn.IsDueAt(now)
}

// doubt records that writes of the batch may have been committed. Every draw is then
// looked up before it is planned again, and no draw joins the batch.
func (b *Batch) doubt() { b.phase, b.asksFirst = inDoubt, true }

// Undo puts the units of a plan that wrote nothing back into the urn. Its draws wait
// again. They may be withdrawn, except those that the log may already have.
func (b *Batch) Undo(p *urn.Plan) {
	p.Undo()
	for _, w := range b.waiters {
		if !w.Log.IsTried() && w.Log.State() != urn.LogKnown {
			w.state.CompareAndSwap(planned, waiting)
		}
	}
}

// InDoubt is Undo for a plan that may have been committed all the same. The next read of
// the log shows whether it was.
func (b *Batch) InDoubt(p *urn.Plan) {
	for i, w := range b.waiters {
		if taken := p.Taken(i); len(taken) > 0 {
			w.Log.Try(p.From, taken[0])
		}
	}
	p.Undo()
	b.doubt()
}

// Plan decides every draw of the batch in order of arrival; see [urn.Urn.Plan], and
// [urn.Plan.IsDue] for a plan that is to be undone. No draw is answered before Settle.
// The pool was read just before. If that read locked the pool's row, no session can have
// changed it since, so the draws that have arrived may join the batch. Plan reads the log
// only if necessary: after a write that met a known key or is in doubt, and in large
// batches for a while after a known key. The write looks up the draws that the plan
// refuses, so that a known key is answered whatever the pool's present state or stock
// (law 4).
func (b *Batch) Plan(ctx context.Context, now time.Time, log Log, locked bool) (*urn.Plan, error) {
	if locked {
		b.TopUp()
	}
	b.ageLog()
	if b.asksFirst {
		if err := b.ask(ctx, log); err != nil {
			return nil, err
		}
	}
	facts, err := b.turns(ctx, log)
	if err != nil {
		return nil, err
	}
	//double:reads-too-soon return b.plan(now, facts), nil => b.TopUp(); return b.plan(now, facts), nil
	return b.plan(now, facts), nil
}

// PlanPlain is Plan without reads of the log. It returns nil if a read is needed. Under
// rules that count, and if an item of the agenda is due, a read is always needed.
func (b *Batch) PlanPlain(now time.Time) *urn.Plan {
	if b.CountsUsers() {
		return nil
	}
	return b.planIf(now, nil, func(p *urn.Plan) bool { return len(p.Unasked()) == 0 })
}

// PlanCached plans the batch from the cached copy of its pool. It returns nil unless
// the plan gives every draw its units; the write then proves the plan right or wrong. A
// draw is refused or replayed only from data that was read in the attempt (law 4). Under
// rules that count, it also returns nil if turns must be read first.
func (b *Batch) PlanCached(now time.Time) *urn.Plan {
	if !b.IsPlainAt(now) {
		return nil
	}
	facts, ok := b.expectTurns()
	if !ok {
		return nil
	}
	return b.planIf(now, facts, func(p *urn.Plan) bool {
		return len(p.Awards) > 0 && !b.refusesAny(p) && p.ProvesSuppositions()
	})
}

// planIf plans a plain batch. It undoes the plan and returns nil unless the function does
// accepts it.
func (b *Batch) planIf(now time.Time, facts *urn.Facts, does func(*urn.Plan) bool) *urn.Plan {
	if !b.IsPlain() {
		return nil
	}
	b.ageLog()
	plan := b.plan(now, facts)
	if plan.IsDue() || !does(plan) {
		b.Undo(plan)
		return nil
	}
	return plan
}

func (b *Batch) plan(now time.Time, facts *urn.Facts) *urn.Plan {
	b.queue.wasRead.Store(b.Urn.WasRead())
	return b.Urn.PlanWith(b.line(), facts, now)
}

// line returns the requests of the batch for a plan. From then on, the draws whose
// callers still wait can no longer be withdrawn.
func (b *Batch) line() []*urn.Ask {
	for _, w := range b.waiters {
		w.Skip = !w.state.CompareAndSwap(waiting, planned) && w.hasAnswer()
	}
	return b.gather()
}

// gather returns the requests of the batch, whether or not their callers still wait.
func (b *Batch) gather() []*urn.Ask {
	b.asks = b.asks[:0]
	for _, w := range b.waiters {
		b.asks = append(b.asks, &w.Ask)
	}
	return b.asks
}

func (b *Batch) refusesAny(p *urn.Plan) bool {
	for i := range b.waiters {
		if p.Err(i) != nil {
			return true
		}
	}
	return false
}

// Log reads draws and turns of users from the pool's history.
type Log interface {
	// Draws returns those of the draws with the given ids that the pool's log has. The
	// ids are distinct.
	Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error)
	// Turns reads the users' data that the rules need, at the urn's head.
	Turns(ctx context.Context, urn *urn.Urn, needs []urn.Need) (*urn.Facts, error)
}

// Keys returns the names that callers chose for draws of the batch.
func (b *Batch) Keys() []string {
	var keys []string
	for _, w := range b.waiters {
		if w.Named {
			keys = append(keys, w.DrawID)
		}
	}
	return keys
}

// KnownKey records that a write met a key that the log has. Draws with keys are then
// looked up before the next plan.
func (b *Batch) KnownKey() {
	b.asksFirst, b.queue.asksFirst = true, askedFirstFor
	for _, w := range b.waiters {
		if w.Named {
			w.Log.Meet()
		}
	}
}

// KnownUser records that a write met a turn of a user whom the plan supposed to be new.
// The next batches read the turns of users whose turns are not cached.
func (b *Batch) KnownUser() { b.queue.newUsers = 0 }

// expectTurns returns, without a read, the cached turns that the rules need. It supposes
// that users without cached turns are new, if those of the last batches were new. It
// returns false if turns must be read.
func (b *Batch) expectTurns() (facts *urn.Facts, ok bool) {
	if !b.CountsUsers() {
		return nil, true
	}
	facts, missing := b.Urn.Recall(b.needs())
	if len(missing) > 0 && (b.queue.newUsers < newUsersMin || b.Urn.RecallsAny(missing)) {
		return nil, false
	}
	facts.Suppose(missing)
	return facts, true
}

// needs lists the turns that the rules need in order to plan the batch.
func (b *Batch) needs() []urn.Need {
	for _, w := range b.waiters {
		w.Skip = w.hasAnswer()
	}
	return b.Urn.Needs(b.gather())
}

// turns reads the turns of the batch's users that the rules need. It reads those that are
// cached, too: the plan may refuse a draw, and a refusal is based on rows that were read
// (law 4). A pool that is not open refuses every new draw before its user is counted.
func (b *Batch) turns(ctx context.Context, log Log) (*urn.Facts, error) {
	if !b.CountsUsers() {
		return nil, nil //nolint:nilnil // most rules count nothing, and need no facts
	}
	needs := b.needs()
	if len(needs) == 0 {
		return nil, nil //nolint:nilnil // every draw of the batch is known
	}
	b.lookedUp = 0
	for i := range needs { // needs of one subject are adjacent
		if i == 0 || needs[i].Subject != needs[i-1].Subject {
			b.lookedUp++
		}
	}
	facts, err := log.Turns(ctx, b.Urn, needs)
	if err != nil {
		return nil, err
	}
	if _, missing := b.Urn.Recall(needs); facts.HasTurns(missing) {
		b.queue.newUsers = 0
	} else if len(missing) > 0 {
		b.queue.newUsers++
	}
	return facts, nil
}

// PlanReplays decides a batch that is given up: the draws that the log has get their
// first awards, and all others get err. It returns nil if the log has none of them.
func (b *Batch) PlanReplays(ctx context.Context, err error, log Log) (*urn.Plan, error) {
	b.ageLog()
	if failed := b.ask(ctx, log); failed != nil {
		return nil, failed
	}
	if !slices.ContainsFunc(b.waiters, func(w *waiter) bool { return w.Log.Known() != nil }) {
		return nil, nil //nolint:nilnil // no plan is the usual outcome, and no error
	}
	return b.Urn.PlanReplays(b.line(), err), nil
}

// AsksLog reports whether the log may have some draw of the batch.
func (b *Batch) AsksLog() bool {
	return slices.ContainsFunc(b.waiters, b.mayHold)
}

// mayHold reports whether the log may have a draw that still waits. It may if the caller
// chose the name, or if a write of the draw may have been committed. A name that the
// service has just created is new.
func (b *Batch) mayHold(w *waiter) bool {
	return (w.Named || b.phase == inDoubt) && !w.hasAnswer()
}

// ageLog marks the answers of the log as outdated before the next plan, because the log
// may have more draws by now.
func (b *Batch) ageLog() {
	for _, w := range b.waiters {
		//double:keeps-answers w.Log.Age() => _ = w
		w.Log.Age()
	}
}

// ask looks up the draws that the log may have, and records the answers.
func (b *Batch) ask(ctx context.Context, log Log) error {
	ids := make([]string, 0, len(b.waiters))
	for _, w := range b.waiters {
		if b.mayHold(w) {
			w.Log.Ask()
			ids = append(ids, w.DrawID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	// Each name must occur once, otherwise a draw would get its awards twice.
	known, err := log.Draws(ctx, b.Urn.PoolID, slices.Compact(ids))
	if err != nil {
		return err
	}
	for _, w := range b.waiters {
		if !b.mayHold(w) {
			continue
		}
		if w.Learn(known); w.Log.Known() != nil {
			b.queue.asksFirst = askedFirstFor
			w.state.CompareAndSwap(waiting, planned) // from now on no answer may say that nothing happened
		}
	}
	return nil
}
