package publish

import (
	"context"
	"errors"

	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/proof"
)

// batch publishes the next entries. It compares the last published entry with its row.
func (p *pool) batch(ctx context.Context, of *Pool) (ended bool, err error) {
	before, err := p.others(ctx, of) // before the rows, which then contain all entries that these checkpoints cover
	if err != nil {
		return false, err
	}
	from := max(1, p.size())
	tail, err := of.Lines(ctx, from, batchMax)
	if err != nil {
		return false, err
	}
	p.writable = tail.Writable
	if err := p.same(from, &tail); err != nil {
		return false, p.fork(ctx, of, err)
	}
	others, err := p.others(ctx, of) // another signer locks the pool, so its checkpoints up to the last row read are visible now
	if err != nil {
		return false, err
	}
	var lines [][]byte
	for _, l := range tail.Lines {
		if l.Version <= p.size() {
			continue
		}
		if l.Version != p.tiles.size+1 {
			return false, p.fork(ctx, of, &difference{p.tiles.size + 1, "is missing, or there twice"})
		}
		if err := p.tiles.add(l.Text); err != nil {
			return false, err
		}
		lines = append(lines, l.Text)
		if len(others) == 0 || others[0].Size != l.Version {
			continue
		}
		if err := p.agrees(others[0]); err != nil {
			return false, p.fork(ctx, of, err)
		}
		if err := p.publish(ctx, of, lines, others[0].note); err != nil {
			return false, err
		}
		lines, others = nil, others[1:]
	}
	if n := len(before); tail.Ended && tail.Writable && n > 0 && before[n-1].Size > p.tiles.size {
		return false, p.fork(ctx, of, &difference{p.tiles.size + 1, "is missing, and was signed"})
	}
	if len(lines) > 0 {
		err = p.publish(ctx, of, lines, nil)
	}
	return tail.Ended, err
}

// agrees compares the tree, as far as it has grown, with a checkpoint of another signer.
func (p *pool) agrees(c *signed) error {
	if p.tiles.grown.Root() != c.Root {
		return errOtherRoot(c.Size)
	}
	return nil
}

func errOtherRoot(version int64) error {
	return &difference{version, "ends a log that was signed with another root"}
}

// others returns the checkpoints by other signers that follow the published ones.
func (p *pool) others(ctx context.Context, of *Pool) (all []*signed, err error) {
	found, err := of.Signed(ctx, p.size())
	for _, note := range found {
		c, err := p.notes.parse(note)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, err
}

// publish publishes the log up to the end of lines, which are the lines after the
// published ones. note is a checkpoint of that log, if one exists.
func (p *pool) publish(ctx context.Context, of *Pool, lines [][]byte, note []byte) error {
	size, root := p.tiles.size, p.tiles.grown.Root()
	if err := p.tiles.save(size); err != nil {
		return err
	}
	if p.entries.isOpen {
		if err := errors.Join(p.entries.add(lines), p.entries.bundle()); err != nil {
			return err
		}
	}
	if err := p.disk.settle(); err != nil {
		return err
	}
	if note == nil {
		var err error
		if note, err = of.Sign((&proof.Checkpoint{Origin: of.Origin, Size: size, Root: root}).Text()); err != nil {
			return err
		}
		if err := p.keep(ctx, of, size, note); err != nil {
			return err
		}
	}
	cosigned := p.witness(ctx, note)
	if err := p.notes.add(cosigned, p.size() == 0); err != nil {
		return err
	}
	if err := p.tiles.sign(tlog.Tree{N: size, Hash: root}); err != nil {
		return err
	}
	if len(cosigned) > len(note) {
		p.keepCosigned(ctx, of, size, cosigned)
	}
	return nil
}

// keep stores a checkpoint in the database, if the database is writable.
func (p *pool) keep(ctx context.Context, of *Pool, size int64, note []byte) error {
	if !p.writable {
		return nil
	}
	err := of.Keep(ctx, size, note)
	if errors.Is(err, ErrForked) {
		return p.fork(ctx, of, errOtherRoot(size))
	}
	return err
}
