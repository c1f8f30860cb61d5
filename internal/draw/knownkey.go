package draw

import (
	"slices"
)

// Learn notes what the log holds of the request's name.
func (a *Ask) Learn(known map[string]Draw) {
	a.Asked, a.Known = true, nil
	if d, ok := known[a.DrawID]; ok {
		a.Known = &d
	}
}

// Unasked are the names that the plan refuses although the log may hold them:
// their callers chose them, and the log was not asked. No name is there twice.
func (p *Plan) Unasked() []string {
	var names []string
	for i, a := range p.asks {
		if p.isUnasked(i) {
			names = append(names, a.DrawID)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Learn notes what the log holds of the names that were unasked. A draw that it
// holds is replayed: it was refused, so that no other depends on its units.
func (p *Plan) Learn(known map[string]Draw) {
	for i, a := range p.asks {
		if !p.isUnasked(i) {
			continue
		}
		if a.Learn(known); a.Known != nil {
			p.outcomes[i] = replay(a)
		}
	}
}

// isUnasked says that a request is among those of Unasked.
func (p *Plan) isUnasked(i int) bool {
	a := p.asks[i]
	return a.Named && !a.Asked && p.Err(i) != nil
}

func replay(a *Ask) outcome {
	known := *a.Known
	if known.UserID != a.UserID || len(known.Awards) != a.Count {
		return outcome{err: errKeyReused(&a.Request)}
	}
	// A draw that an earlier write of this request committed without hearing so
	// is no replay: its caller has not had an answer yet.
	known.Replayed = !a.made(&known)
	return outcome{known: &known}
}

// made says that a draw in the log is the doing of one of the writes that were
// tried.
func (a *Ask) made(known *Draw) bool {
	return slices.ContainsFunc(a.Tried, func(tried Award) bool {
		k := &known.Awards[0]
		return tried.Version == k.Version && tried.PrizeID == k.PrizeID && tried.Unit == k.Unit && tried.At.Equal(k.At)
	})
}

func repeat(first outcome, a, b *Request) outcome {
	if a.UserID != b.UserID || a.Count != b.Count {
		return outcome{err: errKeyReused(b)}
	}
	first.repeats = true
	return first
}

func errKeyReused(r *Request) error {
	return Errorf(CodeKeyReused, "the draw %q was asked for with another user or count", r.DrawID)
}
