package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/proof"
)

// Source is a committed pool whose log is published.
type Source interface {
	// Lines returns lines of the log from a version on, about limit of them.
	Lines(ctx context.Context, from int64, limit int) (proof.Tail, error)
	// Signed returns a page of the signed checkpoints with more than after entries, in
	// order of their sizes.
	Signed(ctx context.Context, after int64) ([][]byte, error)
	// Keep stores a checkpoint before it is published, or adds signatures to it. Error:
	// ErrForked if another checkpoint was signed for its size.
	Keep(ctx context.Context, size int64, note []byte) error
}

// Pool is a committed pool.
type Pool struct {
	// Origin is HOST/POOL. Commitment is the signed note, Key the verifier key's line. Sign
	// signs with that key.
	Origin          string
	Commitment, Key []byte
	Sign            func(text string) ([]byte, error)
	Source
}

// Head is the state of a pool. Mark distinguishes its version from the same version of
// another history. Revision is the version of the last change. Reveal is the seed's line,
// empty before the reveal.
type Head struct {
	PoolID                  string
	Version, Mark, Revision int64
	Reveal                  []byte
}

// ErrForked means that the rows differ from the signed log.
var ErrForked = errors.New("publish: the rows of a pool are not those that were signed")

// batchMax is the maximum number of entries that are read and signed at once.
const batchMax = 1 << 16

// forkName is the file that marks a folder in which a fork was found.
const forkName = ".fork"

// pool is the folder of one pool.
type pool struct {
	id      string
	options *Options
	client  *http.Client
	log     *slog.Logger
	disk    *disk
	tiles   tiles
	entries entries
	notes   notes

	witnesses []*attendance
	// seen is the published head, at the time when its checkpoint was signed.
	seen Head
	at   time.Time
	// checked is the last entry that the repeated comparison has reached.
	checked int64
	// writable means that the rows come from a server that accepts writes.
	writable bool
	// forked is not nil once the rows differ from the signed log.
	forked error
}

// openPool opens the folder of a pool, as its last publisher left it.
func openPool(o *Options, root *os.Root, client *http.Client, id string, of *Pool) (*pool, error) {
	d, err := newDisk(root, id, o.step)
	if err != nil {
		return nil, err
	}
	key, err := proof.Verifier(strings.TrimSuffix(string(of.Key), "\n"))
	if err != nil {
		return nil, err
	}
	p := &pool{id: id, options: o, client: client, log: o.Log.With("pool", id), disk: d, notes: notes{d, of.Origin, key}}
	p.tiles.disk, p.entries.disk = d, d
	if err := p.still("commitment", of.Commitment); err != nil {
		return nil, err
	}
	if err := p.still("key", of.Key); err != nil {
		return nil, err
	}
	last, err := p.notes.recover()
	if err != nil {
		return nil, err
	}
	var tree tlog.Tree
	if last != nil {
		tree = tlog.Tree{N: last.Size, Hash: last.Root}
		if err := p.notes.settleLatest(last.note); err != nil {
			return nil, err
		}
	} else if latest, err := d.read(latestName); err != nil || latest != nil {
		return nil, errors.Join(err, fmt.Errorf("%s has a checkpoint, and none in %s: it is damaged", d.fullPath(""), allName))
	}
	p.tiles.reset(tree)
	return p, errors.Join(p.keys(), p.zones(), p.attend())
}

// still writes a file whose content never changes.
func (p *pool) still(name string, content []byte) error {
	there, err := p.disk.read(name)
	if err != nil || bytes.Equal(there, content) {
		return err
	}
	if there != nil {
		return fmt.Errorf("%s has another %s: it is the folder of another pool", p.disk.fullPath(""), name)
	}
	return p.disk.replace(name, content)
}

// keys writes the keys of the witnesses.
func (p *pool) keys() error {
	var b []byte
	for _, w := range p.options.Witnesses {
		b = append(b, w.Key.Key()+"\n"...)
	}
	there, err := p.disk.read("witnesses")
	if err != nil || len(b) == 0 || bytes.Equal(there, b) {
		return err
	}
	return p.disk.replace("witnesses", b)
}

// zones writes the release of the time zones that this publisher uses.
func (p *pool) zones() error {
	const name = "zones"
	there, err := p.disk.read(name)
	if err != nil || bytes.Equal(there, proof.Zones()) {
		return err
	}
	return p.disk.replace(name, proof.Zones())
}

// size returns the number of published entries.
func (p *pool) size() int64 { return p.tiles.signed.N }

// due reports whether a head has something to publish now. Changes of the pool and the
// reveal do not wait for the interval, nor do missing cosignatures.
func (p *pool) due(head *Head) bool {
	if p.forked != nil {
		return false
	}
	if len(head.Reveal) > 0 && len(p.seen.Reveal) == 0 || p.lacking() {
		return true
	}
	isNew := head.Version != p.size() || head.Mark != p.seen.Mark
	return isNew && (time.Since(p.at) >= p.options.Every || head.Revision > p.size())
}

// follow publishes the entries that were added to a pool since it was last published.
// Errors: ErrForked, and those of the source and of files.
func (p *pool) follow(ctx context.Context, of *Pool, head *Head) (err error) {
	defer func() {
		if err != nil {
			p.disk.giveUp()
			p.entries.isOpen = false // the next pass may write lines and bundles again
		}
	}()
	p.tiles.reset(p.tiles.signed)
	isPublic := p.options.Live || len(head.Reveal) > 0 || p.entries.exist()
	if isPublic && (!p.entries.isOpen || p.entries.size != p.size()) {
		if err := p.entries.open(p.size()); err != nil {
			return err
		}
		if err := p.fill(ctx, of); err != nil {
			return err
		}
	}
	for ended := false; !ended; {
		if ended, err = p.batch(ctx, of); err != nil {
			return err
		}
	}
	if p.lacking() {
		if err := p.makeUp(ctx, of); err != nil {
			return err
		}
	}
	if len(head.Reveal) > 0 && p.size() >= head.Version {
		if err := p.still("reveal", head.Reveal); err != nil {
			return err
		}
		if err := p.disk.settle(); err != nil {
			return err
		}
	}
	p.seen, p.at = *head, time.Now()
	return nil
}
