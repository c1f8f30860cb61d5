package publish

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/proof"
)

// difference is an error: an entry's row differs from the signed entry.
type difference struct {
	version int64
	what    string
}

// Error implements error.
func (d *difference) Error() string { return fmt.Sprintf("version %d %s", d.version, d.what) }

// same compares rows, starting at the version from, with the published entries.
func (p *pool) same(from int64, tail *proof.Tail) error {
	to := min(p.size(), from+int64(len(tail.Lines))-1)
	var hashes []tlog.Hash
	if to >= from {
		var err error
		if hashes, err = p.tiles.leaves(from, to); err != nil {
			return err
		}
	}
	next := from
	for _, l := range tail.Lines {
		if next > p.size() {
			return nil
		}
		switch {
		case l.Version > next:
			return &difference{next, "is missing, and was signed"}
		case l.Version < next:
			return &difference{l.Version, "is there twice"}
		case proof.LeafHash(l.Text) != hashes[next-from]:
			return &difference{next, "is not the one that was signed"}
		}
		next++
	}
	if next <= p.size() && tail.Ended {
		if !tail.Writable { // the standby may get the row later
			return fmt.Errorf("the rows end before version %d, which was signed: the standby is behind", next)
		}
		return &difference{next, "is missing, and was signed"}
	}
	return nil
}

// compare compares a batch of published entries, starting at the version from, with their
// rows. It returns the last version that it compared.
func (p *pool) compare(ctx context.Context, of *Pool, from int64, limit int, each func([]proof.Numbered) error) (int64, error) {
	tail, err := of.Lines(ctx, from, limit)
	if err == nil {
		err = p.same(from, &tail)
	}
	if err != nil {
		return 0, err
	}
	lines := tail.Lines[:min(int64(len(tail.Lines)), p.size()-from+1)]
	if each != nil {
		err = each(lines)
	}
	return from + int64(len(lines)) - 1, err
}

// compareAll compares everything that is published with its rows.
func (p *pool) compareAll(ctx context.Context, of *Pool) error {
	for last := int64(0); last < p.size(); {
		var err error
		if last, err = p.compare(ctx, of, last+1, batchMax, nil); err != nil {
			return err
		}
	}
	return nil
}

// fill publishes the lines of entries that are published without their lines.
func (p *pool) fill(ctx context.Context, of *Pool) error {
	for p.entries.size < p.size() {
		_, err := p.compare(ctx, of, p.entries.size+1, batchMax, func(found []proof.Numbered) error {
			lines := make([][]byte, len(found))
			for i, l := range found {
				lines[i] = l.Text
			}
			return p.entries.add(lines)
		})
		if err != nil {
			return p.fork(ctx, of, err)
		}
	}
	if err := p.entries.bundle(); err != nil {
		return err
	}
	return p.disk.settle()
}

// recheckMax is the maximum number of entries that are compared again in one pass.
const recheckMax = 2000

// recheck compares a part of the published entries with their rows again. In this way an
// edited row is found after some time.
func (p *pool) recheck(ctx context.Context, of *Pool) error {
	if p.size() == 0 {
		return nil
	}
	if p.checked >= p.size() {
		p.checked = 0
	}
	last, err := p.compare(ctx, of, p.checked+1, recheckMax, nil)
	if err != nil {
		return p.fork(ctx, of, err)
	}
	p.checked = last
	return nil
}

// fork returns err. If err is a difference, fork finds the first entry that differs, and
// stops the pool: nothing more is signed for it.
func (p *pool) fork(ctx context.Context, of *Pool, err error) error {
	found, is := errors.AsType[*difference](err)
	if !is {
		return err
	}
	if first, is := errors.AsType[*difference](p.compareAll(ctx, of)); is && first.version < found.version {
		found = first
	}
	p.forked = fmt.Errorf("pool %s: %w: %w", p.id, ErrForked, found)
	p.log.Error("the rows are not those that were signed: nothing more is signed for this pool", "version", found.version, "error", found)
	p.options.Forked()
	return errors.Join(p.forked, p.disk.replace(forkName, []byte(found.Error()+"\n")), p.disk.settle())
}

// wasForked reports whether the folder is marked as forked.
func (p *pool) wasForked() bool { return p.disk.has(forkName) }

// mend compares everything, and removes the mark of a fork that has been repaired.
func (p *pool) mend(ctx context.Context, of *Pool) error {
	if err := p.compareAll(ctx, of); err != nil {
		return p.fork(ctx, of, err)
	}
	if !p.wasForked() {
		return nil
	}
	p.log.Info("the rows match what was signed again")
	return p.disk.root.Remove(p.disk.path(forkName))
}
