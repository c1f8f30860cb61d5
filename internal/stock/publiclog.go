package stock

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"math"
	"slices"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
)

// publicLog is the public log of a pool as far as it was read. A log has millions
// of rows. They are read in parts, each in a snapshot of its own, so that nobody
// waits for it: no row is locked meanwhile, and no snapshot grows old. What came
// since is read once more by the transaction that goes by it.
type publicLog struct {
	store  *Store
	poolID string
	scribe *proof.Scribe
	prizes map[string]bool // those that the scribe knows
	tree   proof.Tree
	last   draw.Entry // the last that was read
	began  int64      // the pool's version when the first part was read
	// took, where not nil, is called with each line, once the tree has it.
	took func(line []byte) error
}

// publicLog begins before the first line.
func (s *Store) publicLog(poolID string, salts proof.Salts) *publicLog {
	return &publicLog{store: s, poolID: poolID, scribe: proof.NewScribe(salts, nil), prizes: map[string]bool{}}
}

// partMax is the most versions of one part, so few that memory holds them, and
// more than a draw has.
const partMax = 4 * entriesMax

// part are entries that follow each other.
type part struct {
	entries []draw.Entry
	prizes  []draw.Prize // as they were added; none where none is new
	ended   bool
}

// errRewritten says that what was read of a log is no longer there: a server was
// lost, and versions with it.
var errRewritten = errors.New("stock: the log that was read is no longer the pool's")

// upTo reads up to a version, or to the end that the log has by then. Errors:
// errRewritten, that of took, and those of the store.
func (l *publicLog) upTo(ctx context.Context, last int64) error {
	for ended := false; !ended; {
		var p part
		err := l.store.ofPool(ctx, l.poolID, func(tx *sql.Tx, version int64) (err error) {
			if l.tree.Size() == 0 {
				l.began = version
			}
			p, err = l.read(ctx, tx, min(version, last))
			return err
		})
		if err == nil {
			err = l.add(p.entries, p.prizes)
		}
		if err != nil {
			return err
		}
		ended = p.ended
	}
	return nil
}

// behind reads what came since up to the version of a pool whose row is locked.
func (l *publicLog) behind(ctx context.Context, tx *sql.Tx, version int64) error {
	for ended := false; !ended; {
		p, err := l.read(ctx, tx, version)
		if err == nil {
			err = l.add(p.entries, p.prizes)
		}
		if err != nil {
			return err
		}
		ended = p.ended
	}
	return nil
}

// stood says that nothing happened to a pool since its log was begun. Before a pool
// is committed its users may be erased, which changes lines that were read already.
func (l *publicLog) stood(version int64) bool { return version == l.began }

// read reads the next part of the log of a pool at a version. What was read last
// must still be there: versions that were lost are never lost without those
// behind them.
func (l *publicLog) read(ctx context.Context, q engine.Querier, version int64) (p part, err error) {
	from, to := l.tree.Size(), version
	if p.ended = version-from <= partMax; !p.ended {
		to = from + partMax
	}
	entries := l.store.redirected(ctx, q, l.poolID, from, l.store.entriesUpTo(ctx, q, l.poolID, max(from-1, 0), to))
	for e, err := range entries {
		if err != nil {
			return p, err
		}
		p.entries = append(p.entries, owned(e))
	}
	if from > 0 {
		if len(p.entries) == 0 || !isSame(p.entries[0], l.last) {
			return p, draw.Wrap(draw.CodeContended, errRewritten, "the pool's history changed while it was read; nothing happened")
		}
		p.entries = p.entries[1:]
	}
	if !p.ended {
		p.entries = wholeDraws(p.entries)
	}
	isNew := func(e draw.Entry) bool { return e.Move != nil && !l.prizes[e.Move.PrizeID] }
	if slices.ContainsFunc(p.entries, isNew) {
		p.prizes, err = l.store.prizesAsAdded(ctx, q, l.poolID)
	}
	return p, err
}

// owned is an entry that is good for longer than until the next.
func owned(e draw.Entry) draw.Entry {
	switch {
	case e.Award != nil:
		a := *e.Award
		if a.Redirect != nil {
			a.Redirect = new(*a.Redirect)
		}
		return draw.Entry{Award: &a}
	case e.Move != nil:
		return draw.Entry{Move: new(*e.Move)}
	}
	return draw.Entry{Change: new(*e.Change)}
}

// wholeDraws leaves out the last draw, which may go on behind the part.
func wholeDraws(entries []draw.Entry) []draw.Entry {
	n := len(entries)
	for n > 0 && entries[n-1].Award != nil && entries[n-1].Award.DrawID == entries[len(entries)-1].Award.DrawID {
		n--
	}
	return entries[:n]
}

func isSame(a, b draw.Entry) bool {
	if a.Version() != b.Version() || !a.At().Equal(b.At()) || (a.Award == nil) != (b.Award == nil) || (a.Move == nil) != (b.Move == nil) {
		return false
	}
	return a.Award == nil || a.Award.DrawID == b.Award.DrawID && a.Award.PrizeID == b.Award.PrizeID && a.Award.Unit == b.Award.Unit
}

// add makes lines of entries that end with a whole draw.
func (l *publicLog) add(entries []draw.Entry, prizes []draw.Prize) error {
	l.scribe.Learn(prizes)
	for i := range prizes {
		l.prizes[prizes[i].ID] = true
	}
	var text []byte
	for line, err := range l.scribe.Lines(each(entries)) {
		if err != nil {
			return err
		}
		text = line.Append(text[:0])
		l.tree.Add(text)
		if l.took != nil {
			if err := l.took(text); err != nil {
				return err
			}
		}
	}
	if len(entries) > 0 {
		l.last = entries[len(entries)-1]
	}
	return nil
}

func each(entries []draw.Entry) entrySeq {
	return func(yield func(draw.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// readAgainMax is how often a log is read again that changed below its end.
const readAgainMax = 5

// errMoved says that the pool moved on, and that what was read of it may have
// changed.
var errMoved = errors.New("stock: the pool moved on")

// withLog reads the public log of a pool and then runs fn in a transaction. fn
// locks the pool's row, and reads what came since by behind.
func (s *Store) withLog(ctx context.Context, begin func() *publicLog, fn func(*sql.Tx, *publicLog) error) (err error) {
	for range readAgainMax {
		log := begin()
		if err = log.upTo(ctx, math.MaxInt64); err == nil {
			err = s.change(ctx, func(tx *sql.Tx) error { return fn(tx, log) })
		}
		if !errors.Is(err, errRewritten) && !errors.Is(err, errMoved) {
			return err
		}
	}
	return err
}

// compared writes the lines of a log to w, and has agrees compare the tree with what
// was signed, as they come.
func (l *publicLog) compared(w io.Writer, agrees func(*proof.Tree) error) {
	l.took = func(line []byte) error {
		if err := agrees(&l.tree); err != nil {
			return err
		}
		_, err := w.Write(line)
		return err
	}
}
