package publiclog

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/Masterminds/squirrel"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

const (
	// tileSize is the number of lines of a log for which one hash is kept. For ten
	// million lines, the hashes take 1.3 MB.
	tileSize = 256
	// tilesAtOnce is the number of tiles that one transaction reads.
	tilesAtOnce = 64
	// hashedPoolsMax is the number of pools whose hashes are kept.
	hashedPoolsMax = 16
	// rereadEvery is the minimum interval between two reads of a pool's log whose root is
	// not the signed one. The roots may differ for a long time.
	rereadEvery = time.Minute
)

// hashCache keeps the hashes of the logs of at most hashedPoolsMax committed pools, as
// far as proofs have needed them. Hashes are valid only for one history. A signed root
// shows whether that history is the current one.
type hashCache struct {
	mu     sync.Mutex
	byPool map[string]*hashedLog
	uses   int64
}

// hashedLog holds the hashes of one log.
type hashedLog struct {
	// building lets one caller read while the others wait for its result.
	building chan struct{}
	used     int64 // hashCache.mu guards it
	// rereadAt is the time at which these hashes replaced earlier ones, zero if none were
	// replaced.
	rereadAt time.Time

	mu sync.Mutex
	// tiles are the roots of consecutive parts of tileSize lines, from the first line on.
	tiles []tlog.Hash
}

func newHashedLog() *hashedLog { return &hashedLog{building: make(chan struct{}, 1)} }

// find returns the hashes of a pool's log. If the cache has too many pools, find drops
// the least recently used one.
func (c *hashCache) find(poolID string) *hashedLog {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.byPool[poolID]
	if l == nil {
		if c.byPool == nil {
			c.byPool = map[string]*hashedLog{}
		}
		l = newHashedLog()
		c.byPool[poolID] = l
	}
	c.uses++
	l.used = c.uses
	for len(c.byPool) > hashedPoolsMax {
		oldest := poolID
		for id, other := range c.byPool {
			if other.used < c.byPool[oldest].used {
				oldest = id
			}
		}
		delete(c.byPool, oldest)
	}
	return l
}

// reread drops the hashes of a pool, so that they are read again. It returns false if
// they were replaced recently, or if another caller has dropped them.
func (c *hashCache) reread(poolID string, l *hashedLog) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byPool[poolID] != l || time.Since(l.rereadAt) < rereadEvery {
		return false
	}
	next := newHashedLog()
	next.used, next.rereadAt = l.used, time.Now()
	c.byPool[poolID] = next
	return true
}

func (l *hashedLog) read() []tlog.Hash {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tiles
}

// Include proves that the lines of a receipt are in the log of the first checkpoint that
// covers them. It returns nil if no checkpoint covers them. If the hashes do not lead to
// the signed root, they belong to another history, so they are read again, once.
func (s *Store) Include(ctx context.Context, poolID string, receipt *proof.Receipt) (*proof.Inclusion, error) {
	w, err := s.proving(ctx, poolID, receipt)
	if err != nil || w == nil {
		return nil, err
	}
	for range 2 {
		l := s.hashes.find(poolID)
		if err := s.extend(ctx, w, l); err != nil {
			return nil, err
		}
		if err := s.prove(ctx, w, l.read()); err != nil {
			return nil, err
		}
		if _, err := w.promised.Includes(&w.inclusion, w.key); err == nil {
			return &w.inclusion, nil
		}
		if !s.hashes.reread(poolID, l) {
			break
		}
	}
	s.ledger.Log.Error("the log of a committed pool is not the one that was signed: a receipt is given without proof", "pool", poolID, "size", w.size)
	return nil, nil //nolint:nilnil // there is no proof
}

// proving holds the data for one proof.
type proving struct {
	poolID   string
	salts    proof.Salts
	key      note.Verifier
	promised *proof.Promised
	size     int64 // the size of the checkpoint
	// prizes are the pool's prizes as they were added. They are read once, after the
	// checkpoint, so they include every prize that it covers.
	prizes    []draw.Prize
	inclusion proof.Inclusion
}

// proving reads a receipt and the checkpoint that covers it, nil for none.
func (s *Store) proving(ctx context.Context, poolID string, receipt *proof.Receipt) (*proving, error) {
	var c *committed
	var signed []proof.Checkpoint
	var notes []string
	w := &proving{poolID: poolID}
	err := s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) (err error) {
		if c, err = s.committed(ctx, tx, poolID); err != nil {
			return err
		}
		if w.key, err = c.verifier(); err != nil {
			return err
		}
		if w.promised, err = receipt.Open(w.key); err != nil {
			return err
		}
		last := w.promised.Lines[len(w.promised.Lines)-1].Version
		query := s.ledger.SelectFrom("checkpoints", "size", "note").Where(squirrel.Eq{"pool_id": poolID}).Where(squirrel.GtOrEq{"size": last}).OrderBy("size").Limit(1)
		notes = nil
		signed, err = ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (one proof.Checkpoint, err error) {
			notes = append(notes, "")
			return one, row.Scan(&one.Size, &notes[len(notes)-1])
		})
		return err
	})
	if err != nil || len(signed) == 0 {
		return nil, err
	}
	by, err := s.sealed(poolID, c)
	if err != nil {
		return nil, err
	}
	w.salts, w.size = by.salts, signed[0].Size
	w.inclusion = proof.Inclusion{Checkpoint: notes[0], Index: w.promised.Lines[0].Version - 1}
	return w, nil
}

// extend reads the hashes of the complete tiles below the size of a checkpoint.
func (s *Store) extend(ctx context.Context, w *proving, l *hashedLog) error {
	late := draw.Errorf(draw.CodeOverloaded, "the log of pool %q is being read to prove it; repeat the call", w.poolID)
	select {
	case l.building <- struct{}{}:
		defer func() { <-l.building }()
	case <-ctx.Done():
		return late
	}
	for n := int64(len(l.read())); n < w.size/tileSize; n = int64(len(l.read())) {
		read := min(w.size/tileSize-n, tilesAtOnce)
		leaves, err := s.leaves(ctx, w, n*tileSize, (n+read)*tileSize)
		if ctx.Err() != nil {
			return late
		}
		if err != nil {
			return err
		}
		if int64(len(leaves)) < read*tileSize {
			return nil // rows are missing, so the root will differ
		}
		tiles := make([]tlog.Hash, read)
		for i := range tiles {
			var tree proof.Tree
			for _, h := range leaves[i*tileSize : (i+1)*tileSize] {
				tree.AddHash(h)
			}
			tiles[i] = tree.Root()
		}
		l.mu.Lock()
		l.tiles = append(l.tiles, tiles...)
		l.mu.Unlock()
	}
	return nil
}

// leaves returns the hashes of the lines from index lo up to hi, in one snapshot. If the
// log is shorter, it returns fewer.
func (s *Store) leaves(ctx context.Context, w *proving, lo, hi int64) (leaves []tlog.Hash, err error) {
	err = s.ledger.OfPool(ctx, w.poolID, func(tx *sql.Tx, _ int64) error {
		leaves = make([]tlog.Hash, 0, hi-lo)
		if w.prizes == nil {
			if w.prizes, err = s.prizesAsAdded(ctx, tx, w.poolID); err != nil {
				return err
			}
		}
		var line []byte
		for l, err := range s.linesWithin(ctx, tx, linesOf{w.poolID, w.salts, w.prizes}, lo+1, hi+draw.CountMax, tileSize) {
			switch {
			case int64(len(leaves)) == hi-lo: // later lines may belong to a prize that was added after the prizes were read
				return nil
			case err != nil:
				return err
			case l.Version > hi:
				return nil
			case l.Version > lo:
				line = l.Append(line[:0])
				leaves = append(leaves, proof.LeafHash(line))
			}
		}
		return nil
	})
	return leaves, err
}

// prove adds the hashes of the proof: those of complete tiles from the cache, others from
// the rows. If one of them is missing, the root differs.
func (s *Store) prove(ctx context.Context, w *proving, tiles []tlog.Hash) error {
	read := map[int64][]tlog.Hash{}
	first, end := w.inclusion.Index, w.inclusion.Index+int64(len(w.promised.Lines))
	for _, tile := range []int64{first / tileSize, (end - 1) / tileSize, w.size / tileSize} {
		if lo := tile * tileSize; lo < w.size && read[tile] == nil {
			leaves, err := s.leaves(ctx, w, lo, min(lo+tileSize, w.size))
			if err != nil {
				return err
			}
			read[tile] = leaves
		}
	}
	perfect := func(lo, hi int64) (h tlog.Hash, ok bool) {
		tile := lo / tileSize
		switch leaves := read[tile]; {
		case hi-lo == tileSize && lo%tileSize == 0 && tile < int64(len(tiles)):
			return tiles[tile], true
		case hi-lo > 1:
			return h, false
		case lo%tileSize < int64(len(leaves)):
			h = leaves[lo%tileSize]
		}
		return h, true
	}
	hashes, err := proof.Prove(w.size, first, end, func(lo, hi int64) (tlog.Hash, error) { return proof.Subtree(lo, hi, perfect) })
	w.inclusion.Hashes = hashes
	return err
}
