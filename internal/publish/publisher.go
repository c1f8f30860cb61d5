package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

// Options of a Publisher.
type Options struct {
	// Dir is the folder that contains the pools' folders.
	Dir string
	// Every is the minimum time between two checkpoints of a pool, except for changes of the
	// pool, such as an opening, and its end.
	Every time.Duration
	// Witnesses cosign the checkpoints.
	Witnesses []Witness
	// Live publishes the log before the reveal.
	Live bool
	Log  *slog.Logger
	// Forked is called for each pool whose rows differ from the signed log.
	Forked func()
	// Passed is called after each pass in which no pool failed; forked pools do not count as
	// failed.
	Passed func()

	step func()
	// patience is the maximum time that a checkpoint waits for its witnesses; 0 means the
	// default.
	patience time.Duration
}

// Database holds committed pools.
type Database interface {
	// Heads returns the heads of all pools that are published.
	Heads(ctx context.Context) ([]Head, error)
	// Pool returns the source of a pool's log.
	Pool(ctx context.Context, id string) (*Pool, error)
}

// Publisher keeps a folder for each committed pool.
type Publisher struct {
	options Options
	root    *os.Root
	lock    *flock.Flock
	client  *http.Client
	pools   map[string]*pool
	// turn is the index of the pool whose entries are compared again next.
	turn int
}

// New locks a folder exclusively for this publisher. It returns an error if another
// publisher has locked the folder, or if a file cannot be used.
func New(o Options) (*Publisher, error) {
	root, err := openRoot(o.Dir)
	if err != nil {
		return nil, err
	}
	lock, err := takeLock(root)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	o.Log, o.patience = cmp.Or(o.Log, slog.Default()), cmp.Or(o.patience, patience)
	if o.Forked == nil {
		o.Forked = func() {}
	}
	if o.Passed == nil {
		o.Passed = func() {}
	}
	return &Publisher{options: o, root: root, lock: lock, client: &http.Client{}, pools: map[string]*pool{}}, nil
}

// takeLock locks a folder for this process. It creates the lock's file within the folder,
// and then opens it without creating one: a link in its place creates nothing elsewhere.
func takeLock(root *os.Root) (*flock.Flock, error) {
	const name = ".lock"
	f, err := root.OpenFile(name, os.O_CREATE|os.O_RDONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(root.Name(), name), flock.SetFlag(os.O_RDONLY))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = fmt.Errorf("another publisher has the folder %s", root.Name())
	}
	return lock, err
}

// Close releases the folder.
func (p *Publisher) Close() error {
	p.client.CloseIdleConnections()
	return errors.Join(p.lock.Unlock(), p.root.Close())
}

// tickMax is the maximum time until an opening or the end of a pool is noticed.
const tickMax = time.Second

// Tick returns the time between two passes.
func (p *Publisher) Tick() time.Duration { return min(tickMax, p.options.Every) }

// Pass publishes the entries that were added to the pools since the last pass. A pool
// that fails does not stop the others. If all is set, Pass also compares all published
// entries with their rows. Errors: those of the database and of files. ErrForked is
// returned in every pass while a pool is stopped.
func (p *Publisher) Pass(ctx context.Context, db Database, all bool) error {
	heads, err := db.Heads(ctx)
	if err != nil {
		return err
	}
	var failed error
	isWhole := true
	for i := range heads {
		if err := p.pass(ctx, db, &heads[i], all, p.turn == i); err != nil {
			failed = errors.Join(failed, err)
			isWhole = isWhole && errors.Is(err, ErrForked)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if p.turn++; p.turn >= len(heads) {
		p.turn = 0
	}
	if isWhole && ctx.Err() == nil {
		p.options.Passed()
	}
	return failed
}

// pass runs one pool's part of a pass.
func (p *Publisher) pass(ctx context.Context, db Database, head *Head, all, recheck bool) error {
	of := p.pools[head.PoolID]
	if of != nil && of.forked != nil {
		return of.forked
	}
	if of != nil && !all && !recheck && !of.due(head) {
		return nil
	}
	source, err := db.Pool(ctx, head.PoolID)
	if err != nil {
		return fmt.Errorf("pool %s: %w", head.PoolID, err)
	}
	if of == nil {
		if of, err = openPool(&p.options, p.root, p.client, head.PoolID, source); err != nil {
			return fmt.Errorf("pool %s: %w", head.PoolID, err)
		}
		p.pools[head.PoolID] = of
		all = all || of.wasForked()
	}
	if all {
		err = of.mend(ctx, source)
	}
	if err == nil && of.due(head) {
		err = of.follow(ctx, source, head)
	}
	if err == nil && recheck && !all {
		err = of.recheck(ctx, source)
	}
	if err != nil && !errors.Is(err, ErrForked) {
		err = fmt.Errorf("pool %s: %w", head.PoolID, err)
	}
	return err
}

// Status is the progress of publishing a pool.
type Status struct {
	PoolID string
	// Entries is the number of entries that the last checkpoint covers.
	Entries int64
}

// Published returns the progress of publishing the pools, in order of their ids.
func (p *Publisher) Published() (all []Status) {
	for _, id := range slices.Sorted(maps.Keys(p.pools)) {
		all = append(all, Status{id, p.pools[id].size()})
	}
	return all
}
