package ledger

import (
	"errors"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// Observe records the error of a database access by a draw or a change.
func (l *Ledger) Observe(err error) {
	l.Engine.Observe(err)
	if refusal := l.writeRefusal(err); refusal != nil {
		l.refusal.CompareAndSwap(nil, refusal)
	}
}

// writeRefusal returns err if it means that the database accepts no writes, otherwise
// nil. If a write failed at COMMIT, its result is in doubt, but its error still has the
// reason.
func (l *Ledger) writeRefusal(err error) *engine.Error {
	said, ok := errors.AsType[*engine.Error](err)
	if ok && said.Class == engine.ClassUnknown {
		said, ok = errors.AsType[*engine.Error](engine.Classify(said.Err, l.Engine.ByCode))
	}
	if !ok || !said.RefusesWrites() {
		return nil
	}
	return said
}

// CheckWritable returns an error if the database did not accept the last write. It
// sends no query: see [Ledger.WatchWrites]. Error: CodeStoreUnavailable.
func (l *Ledger) CheckWritable() error {
	if refusal := l.refusal.Load(); refusal != nil {
		return draw.Wrap(draw.CodeStoreUnavailable, refusal, "%s", refusal.Sentence())
	}
	return nil
}

// WriteRefusal returns the reason why the database accepts no writes, one of
// [engine.WriteRefusals]. It returns "" while the database accepts writes.
func (l *Ledger) WriteRefusal() string {
	if refusal := l.refusal.Load(); refusal != nil {
		return refusal.Reason
	}
	return ""
}
