package draw

import (
	"slices"
)

func (o *outcome) replay(a *Ask) {
	known := *a.Known
	if known.UserID != a.UserID || len(known.Awards) != a.Count {
		o.err = errKeyReused(&a.Request)
		return
	}
	// A draw that an earlier write of this request committed without hearing so
	// is no replay: its caller has not had an answer yet.
	known.Replayed = !a.made(&known)
	o.known = &known
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
