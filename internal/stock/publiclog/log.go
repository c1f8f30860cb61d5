package publiclog

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"math"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// publicLog is the public log of a pool as far as it was read. A log has millions
// of rows. They are read in parts, each in a snapshot of its own, so that nobody
// waits for it: no row is locked meanwhile, and no snapshot grows old. What came
// since is read once more by the transaction that goes by it.
type publicLog struct {
	store *Store
	of    linesOf
	tree  proof.Tree
	last  []byte // the line that was read last
	began int64  // the pool's version when the first part was read
	// took, where not nil, is called with each line, once the tree has it.
	took func(line []byte) error
}

// publicLog begins before the first line.
func (s *Store) publicLog(poolID string, salts proof.Salts) *publicLog {
	return &publicLog{store: s, of: linesOf{poolID: poolID, salts: salts}}
}

// partMax is about the most lines of one part, so few that memory holds them.
const partMax = 4 * ledger.PageMax

// errRewritten says that what was read of a log is no longer there: a server was
// lost, and versions with it.
var errRewritten = errors.New("stock: the log that was read is no longer the pool's")

// upTo reads up to a version, or to the end that the log has by then. Errors:
// errRewritten, that of took, and those of the store.
func (l *publicLog) upTo(ctx context.Context, last int64) error {
	for ended := false; !ended; {
		var lines []proof.Numbered
		err := l.store.ledger.RowsOf(ctx, l.of.poolID, func(q engine.Querier, version int64) (err error) {
			if l.tree.Size() == 0 {
				l.began = version
			}
			lines, ended, err = l.read(ctx, q, min(version, last))
			return err
		})
		if err == nil {
			err = l.add(lines)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// behind reads what came since up to the version of a pool whose row is locked.
func (l *publicLog) behind(ctx context.Context, tx *sql.Tx, version int64) error {
	for ended := false; !ended; {
		var lines []proof.Numbered
		var err error
		if lines, ended, err = l.read(ctx, tx, version); err == nil {
			err = l.add(lines)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stood says that nothing happened to a pool since its log was begun. Before a pool
// is committed its users may be erased, which changes lines that were read already.
func (l *publicLog) stood(version int64) bool { return version == l.began }

// read reads the next part of the log of a pool at a version. What was read last
// must still be there: versions that were lost are never lost without those
// behind them.
func (l *publicLog) read(ctx context.Context, q engine.Querier, version int64) (lines []proof.Numbered, ended bool, err error) {
	size := l.tree.Size()
	lines, ended, err = l.store.page(ctx, q, l.of, max(size, 1), version, partMax)
	if err != nil || size == 0 {
		return lines, ended, err
	}
	if len(lines) == 0 || lines[0].Version != size || !bytes.Equal(lines[0].Text, l.last) {
		return nil, false, draw.Wrap(draw.CodeContended, errRewritten, "the pool's history changed while it was read; nothing happened")
	}
	return lines[1:], ended, nil
}

// add takes in the lines of a part.
func (l *publicLog) add(lines []proof.Numbered) error {
	for _, line := range lines {
		l.tree.Add(line.Text)
		l.last = line.Text
		if l.took != nil {
			if err := l.took(line.Text); err != nil {
				return err
			}
		}
	}
	return nil
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
			err = s.ledger.Change(ctx, func(tx *sql.Tx) error { return fn(tx, log) })
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
