package ledger

import (
	"errors"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// Observe takes in the error of what was read or written for a draw or a change.
func (l *Ledger) Observe(err error) {
	l.Engine.Observe(err)
	if refusal := l.writeRefusal(err); refusal != nil {
		l.refusal.CompareAndSwap(nil, refusal)
	}
}

// writeRefusal is the error of a database that takes no writes, nil for every other
// one. What failed at COMMIT is in doubt, and tells all the same why it failed.
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

// CheckWritable reports whether the database takes writes, as far as the last ones
// say. It asks nobody: see [Ledger.WatchWrites]. Error: CodeStoreUnavailable.
func (l *Ledger) CheckWritable() error {
	if refusal := l.refusal.Load(); refusal != nil {
		return draw.Wrap(draw.CodeStoreUnavailable, refusal, "%s", refusal.Sentence())
	}
	return nil
}

// WriteRefusal is the reason for which the database takes no writes, one of
// [engine.WriteRefusals], "" while it takes them.
func (l *Ledger) WriteRefusal() string {
	if refusal := l.refusal.Load(); refusal != nil {
		return refusal.Reason
	}
	return ""
}
