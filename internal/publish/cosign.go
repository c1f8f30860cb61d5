package publish

import (
	"context"
	"errors"
	"sync"

	"drawsvc/internal/proof"
)

// attend reads from the stored checkpoints which size each witness has cosigned last. The
// witnesses' lines were verified before they were written.
func (p *pool) attend() error {
	for _, w := range p.options.Witnesses {
		a := &attendance{Witness: w}
		p.witnesses = append(p.witnesses, a)
		err := p.notes.each(func(note []byte) bool {
			if w.Key.IsAmong(proof.Signatures(note)) {
				a.knows = sizeOf(note)
			} else if a.lacks == 0 {
				a.lacks = sizeOf(note)
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lacking reports whether a cosignature is missing that can be requested now.
func (p *pool) lacking() bool {
	for _, a := range p.witnesses {
		if a.lacks > 0 && !a.rests() {
			return true
		}
	}
	return false
}

// backlogMax is the maximum number of checkpoints without a cosignature that are in
// memory at the same time.
const backlogMax = 500

// makeUp requests missing cosignatures from witnesses that were unavailable. It sends the
// checkpoints in the order of their sizes, because a witness never cosigns a size smaller
// than its last one.
func (p *pool) makeUp(outer context.Context, on Source) error {
	ctx, cancel := context.WithTimeout(outer, p.options.patience)
	defer cancel()
	gained := map[int64]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, a := range p.witnesses {
		if a.lacks == 0 || a.rests() {
			continue
		}
		var backlog [][]byte
		if err := p.notes.each(func(note []byte) bool {
			if sizeOf(note) >= a.lacks {
				backlog = append(backlog, note)
			}
			return len(backlog) <= backlogMax
		}); err != nil {
			return err
		}
		all.Go(func() {
			a.lacks = 0
			for i, note := range backlog {
				if i == backlogMax {
					a.lacks = sizeOf(note)
					return
				}
				line, err := p.cosignature(ctx, a, note)
				if err != nil {
					a.lacks = sizeOf(note)
					return
				}
				mu.Lock()
				gained[sizeOf(note)] += line
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(gained) == 0 {
		return nil
	}
	if err := p.notes.amend(gained); err != nil {
		return err
	}
	return p.keepGained(outer, on, gained)
}

// keepGained updates the stored checkpoints that gained cosignatures.
func (p *pool) keepGained(ctx context.Context, on Source, gained map[int64]string) error {
	return p.notes.each(func(note []byte) bool {
		if gained[sizeOf(note)] != "" {
			p.keepCosigned(ctx, on, sizeOf(note), note)
		}
		return true
	})
}

// keepCosigned adds the cosignatures of a checkpoint to the one in the database, so that
// the folder is not the only place that has them.
func (p *pool) keepCosigned(ctx context.Context, on Source, size int64, note []byte) {
	if !p.writable {
		return
	}
	if err := on.Keep(ctx, size, note); err != nil {
		p.log.Warn("the cosignatures of a checkpoint are only in the folder", "size", size, "error", err)
	}
}

// cosignature returns the line of a witness for a checkpoint. It returns "" if the
// checkpoint has that line, or can never get it.
func (p *pool) cosignature(ctx context.Context, a *attendance, note []byte) (string, error) {
	c, err := p.notes.parse(note)
	if err != nil {
		return "", err
	}
	if _, ok, err := a.Key.Cosigned(c.text, proof.Signatures(note)); ok && err == nil {
		a.knows = max(a.knows, c.Size)
		return "", nil
	}
	line, err := a.cosign(ctx, p.client, &p.tiles, c)
	if errors.Is(err, errTooSmall) {
		p.log.Warn("a checkpoint stays without the cosignature of a witness", "size", c.Size, "witness", a.Key.Name(), "error", err)
		return "", nil
	}
	if a.met(err); err != nil {
		p.log.Warn("a witness has not cosigned", "size", c.Size, "witness", a.Key.Name(), "error", err)
	}
	return line, err
}

// witness requests cosignatures of the new checkpoint from all witnesses that lack no
// earlier checkpoint. It returns the checkpoint with their lines.
func (p *pool) witness(ctx context.Context, note []byte) []byte {
	ctx, cancel := context.WithTimeout(ctx, p.options.patience)
	defer cancel()
	lines := make([]string, len(p.witnesses))
	var all sync.WaitGroup
	for i, a := range p.witnesses {
		all.Go(func() {
			err := errors.New("the witness is not asked yet, or lacks an earlier checkpoint")
			if a.lacks == 0 && !a.rests() {
				lines[i], err = p.cosignature(ctx, a, note)
			}
			if err != nil && a.lacks == 0 {
				a.lacks = sizeOf(note)
			}
		})
	}
	all.Wait()
	for _, line := range lines {
		note = append(note[:len(note):len(note)], line...)
	}
	return note
}
