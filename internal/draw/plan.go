package draw

import "time"

// Plan is what a batch wants written: awards made from the pool at From, each
// of which makes one version. Its units are out of the urn until [Batch.Undo]
// puts them back.
type Plan struct {
	PoolID string
	// From is the head that the plan was made from, To the one that its write
	// makes.
	From, To Head
	// Awards are in order of version, From.Version+1 onwards.
	Awards []Award
	// Changes sums the awards by prize, each prize once.
	Changes []Change

	urn      *Urn
	places   []int
	outcomes []outcome
}

// Change is the number of units that a plan takes of one prize.
type Change struct {
	PrizeID string
	Issued  int64
}

// outcome is what a plan decided for the waiter at the same index.
type outcome struct {
	// first and end delimit the draw's awards in Plan.Awards.
	first, end int
	// known is the draw that the log holds under this key.
	known *Draw
	err   error
	// repeats says that an earlier waiter of the batch has the same key and
	// the same awards.
	repeats bool
	// skipped: nobody waits any more.
	skipped bool
}

func (b *Batch) plan(now time.Time) *Plan { return b.planWith(now, b.refusal) }

// planWith plans the batch; refusal says why a draw cannot be granted, nil
// where it can.
func (b *Batch) planWith(now time.Time, refusal func(*waiter) error) *Plan {
	p := &Plan{
		PoolID:   b.Urn.PoolID,
		From:     b.Urn.Head,
		Awards:   make([]Award, 0, len(b.waiters)),
		urn:      b.Urn,
		places:   make([]int, 0, len(b.waiters)),
		outcomes: make([]outcome, len(b.waiters)),
	}
	at := now.UTC().Truncate(time.Microsecond)
	var named map[string]int // key → index of the first waiter that it gives awards
	for i, w := range b.waiters {
		o := &p.outcomes[i]
		if !w.state.CompareAndSwap(waiting, planned) && w.hasAnswer() {
			o.skipped = true
			continue
		}
		if j, ok := named[w.DrawID]; ok {
			*o = repeat(p.outcomes[j], b.waiters[j], w)
			continue
		}
		p.decide(o, w, at, refusal)
		if w.Named && (o.end > o.first || o.known != nil) {
			if named == nil {
				named = make(map[string]int, len(b.waiters))
			}
			named[w.DrawID] = i
		}
	}
	p.sum()
	if len(p.Awards) > 0 {
		p.To = p.From.Next(len(p.Awards))
	}
	return p
}

// decide fills in the outcome of a draw whose key no earlier waiter has.
func (p *Plan) decide(o *outcome, w *waiter, at time.Time, refusal func(*waiter) error) {
	if w.known != nil {
		o.replay(w)
		return
	}
	if o.err = refusal(w); o.err != nil {
		return
	}
	o.first = len(p.Awards)
	for ordinal := 1; ordinal <= w.Count; ordinal++ {
		p.take(w, ordinal, at)
	}
	o.end = len(p.Awards)
}

func (b *Batch) refusal(w *waiter) error {
	if b.Urn.State != StateOpen {
		return Errorf(CodePoolNotOpen, "pool %q is %s", w.PoolID, b.Urn.State)
	}
	if !b.Urn.covers(w.Count) {
		return errSoldOut(w.PoolID)
	}
	return nil
}

func (o *outcome) replay(w *waiter) {
	known := *w.known
	if known.UserID != w.UserID || len(known.Awards) != w.Count {
		o.err = errKeyReused(w)
		return
	}
	// A draw that an earlier try of this batch committed without hearing so is
	// no replay: its caller has not had an answer yet.
	known.Replayed = !w.made(known)
	o.known = &known
}

func repeat(first outcome, a, b *waiter) outcome {
	if a.UserID != b.UserID || a.Count != b.Count {
		return outcome{err: errKeyReused(b)}
	}
	first.repeats = true
	return first
}

func errKeyReused(w *waiter) error {
	return Errorf(CodeKeyReused, "the draw %q was asked for with another user or count", w.DrawID)
}

// take moves one unit from the urn into the plan.
func (p *Plan) take(w *waiter, ordinal int, at time.Time) {
	version := p.From.Version + int64(len(p.Awards)) + 1
	place := p.urn.take(version)
	prize := &p.urn.prizes[place]
	p.places = append(p.places, place)
	p.Awards = append(p.Awards, Award{
		Version:   version,
		DrawID:    w.DrawID,
		Ordinal:   ordinal,
		UserID:    w.UserID,
		PrizeID:   prize.id,
		PrizeName: prize.name,
		Value:     prize.value,
		Unit:      prize.issued,
		At:        at,
	})
}

// sum fills in Changes.
func (p *Plan) sum() {
	at := make(map[int]int, min(len(p.places), len(p.urn.prizes)))
	for i, place := range p.places {
		j, ok := at[place]
		if !ok {
			j = len(p.Changes)
			at[place] = j
			p.Changes = append(p.Changes, Change{PrizeID: p.Awards[i].PrizeID})
		}
		p.Changes[j].Issued++
	}
}

// putBack returns the plan's units to the urn.
func (p *Plan) putBack() {
	for _, place := range p.places {
		p.urn.putBack(place)
	}
	p.places = nil
}

func (p *Plan) answer(i int, w *waiter) (Draw, error) {
	o := &p.outcomes[i]
	switch {
	case o.err != nil:
		return Draw{}, o.err
	case o.known != nil:
		known := *o.known
		known.Replayed = known.Replayed || o.repeats
		return known, nil
	}
	return Draw{
		ID:       w.DrawID,
		PoolID:   w.PoolID,
		UserID:   w.UserID,
		Replayed: o.repeats,
		Awards:   p.Awards[o.first:o.end:o.end],
	}, nil
}
