package group

import (
	"context"
	"slices"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

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

// expectTurns returns the turns that counting rules need, without a read: those that are
// cached. It supposes that other users are new, if such users of the last batches
// were. It returns false if turns must be read.
func (b *Batch) expectTurns() (facts *urn.Facts, ok bool) {
	if !b.CountsUsers() {
		return nil, true
	}
	facts, missing := b.Urn.Recall(b.needs())
	if len(missing) > 0 && b.queue.newUsers < newUsersMin {
		return nil, false
	}
	facts.Suppose(missing)
	return facts, true
}

// needs lists the turns that counting rules need to plan the batch.
func (b *Batch) needs() []urn.Need {
	for _, w := range b.waiters {
		w.Skip = w.hasAnswer()
	}
	return b.Urn.Needs(b.gather())
}

// turns reads the turns of the batch's users that counting rules need. It reads those
// that are cached, too: the plan may refuse a draw, and a refusal is based on rows
// that were read (law 4). A pool that is not open refuses every new draw before its user
// is counted.
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
