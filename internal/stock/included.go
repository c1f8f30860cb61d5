package stock

import (
	"context"
	"database/sql"
	"maps"
	"sync"
	"time"

	"github.com/Masterminds/squirrel"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
)

const (
	// tileSize is how many lines of a log one hash is kept of: ten million lines
	// take 1.3 MB.
	tileSize = 256
	// tilesAtOnce is how many are read in one transaction.
	tilesAtOnce = 64
	// hashedPoolsMax is how many pools hashes are kept of.
	hashedPoolsMax = 16
	// rereadEvery is how often the log of a pool is read anew because it is not the
	// one that was signed, which it may stay for long.
	rereadEvery = time.Minute
	// rereadPoolsMax is how many pools' logs are read anew within rereadEvery.
	rereadPoolsMax = 64
)

// hashes are those of the logs of committed pools, as far as proofs have asked for
// them. They are good for one history: a root that was signed tells.
type hashes struct {
	mu     sync.Mutex
	byPool map[string]*hashedLog
	uses   int64
	// reread is when the hashes of a pool were dropped, within rereadEvery; of at most
	// rereadPoolsMax pools.
	reread map[string]time.Time
}

// hashedLog are the hashes of one log.
type hashedLog struct {
	// building lets one caller read on while the others wait for what it reads.
	building chan struct{}
	used     int64 // guarded by hashes.mu

	mu sync.Mutex
	// tiles are the roots over each tileSize lines, from the first on.
	tiles []tlog.Hash
}

// of is the log of a pool. Of too many pools the one that was used longest ago is
// dropped.
func (h *hashes) of(poolID string) *hashedLog {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.byPool[poolID]
	if l == nil {
		if h.byPool == nil {
			h.byPool = map[string]*hashedLog{}
		}
		l = &hashedLog{building: make(chan struct{}, 1)}
		h.byPool[poolID] = l
	}
	h.uses++
	l.used = h.uses
	for len(h.byPool) > hashedPoolsMax {
		oldest := poolID
		for id, other := range h.byPool {
			if other.used < h.byPool[oldest].used {
				oldest = id
			}
		}
		delete(h.byPool, oldest)
	}
	return l
}

// drop has the hashes of a pool read anew. It is false where they were dropped not
// long ago, or are dropped for another caller, or where those of too many pools were.
func (h *hashes) drop(poolID string, l *hashedLog) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.reread, func(_ string, at time.Time) bool { return time.Since(at) >= rereadEvery })
	if _, recent := h.reread[poolID]; h.byPool[poolID] != l || recent || len(h.reread) >= rereadPoolsMax {
		return false
	}
	if h.reread == nil {
		h.reread = map[string]time.Time{}
	}
	delete(h.byPool, poolID)
	h.reread[poolID] = time.Now()
	return true
}

func (l *hashedLog) read() []tlog.Hash {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tiles
}

// included proves that the lines of a receipt are in the log of the first
// checkpoint that covers them; nil where there is none. Hashes that do not lead to
// the root that was signed are of another history: they are read anew, once.
func (s *Store) included(ctx context.Context, poolID string, receipt *proof.Receipt) (*proof.Inclusion, error) {
	w, err := s.proving(ctx, poolID, receipt)
	if err != nil || w == nil {
		return nil, err
	}
	for range 2 {
		l := s.hashes.of(poolID)
		if err := s.extend(ctx, w, l); err != nil {
			return nil, err
		}
		if err := s.prove(ctx, w, l.read()); err != nil {
			return nil, err
		}
		if _, err := w.promised.Includes(&w.inclusion, w.key); err == nil {
			return &w.inclusion, nil
		}
		if !s.hashes.drop(poolID, l) {
			break
		}
	}
	s.options.Log.Error("the log of a committed pool is not the one that was signed: a receipt is given without proof", "pool", poolID, "size", w.size)
	return nil, nil //nolint:nilnil // there is no proof
}

// proving is what one proof is made of.
type proving struct {
	poolID   string
	salts    proof.Salts
	key      note.Verifier
	promised *proof.Promised
	size     int64 // of the checkpoint
	// prizes are the pool's as they were added. All that the checkpoint covers are
	// among them: they are read once.
	prizes    []draw.Prize
	inclusion proof.Inclusion
}

// proving opens a receipt and reads the checkpoint that covers it, nil for none.
func (s *Store) proving(ctx context.Context, poolID string, receipt *proof.Receipt) (*proving, error) {
	var c *committed
	var signed []proof.Checkpoint
	var notes []string
	w := &proving{poolID: poolID}
	err := s.ofPool(ctx, poolID, func(tx *sql.Tx, _ int64) (err error) {
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
		query := s.selectFrom("checkpoints", "size", "note").Where(squirrel.Eq{"pool_id": poolID}).Where(squirrel.GtOrEq{"size": last}).OrderBy("size").Limit(1)
		notes = nil
		signed, err = selectAll(ctx, tx, query, func(row engine.Scanner) (one proof.Checkpoint, err error) {
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

// extend reads the hashes of the whole tiles below the size of a checkpoint.
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
			return nil // rows are missing, which the root will tell
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

// leaves are the hashes of the lines from the place lo up to hi, in one snapshot:
// fewer where the log has fewer.
func (s *Store) leaves(ctx context.Context, w *proving, lo, hi int64) (leaves []tlog.Hash, err error) {
	err = s.ofPool(ctx, w.poolID, func(tx *sql.Tx, _ int64) error {
		leaves = make([]tlog.Hash, 0, hi-lo)
		if w.prizes == nil {
			if w.prizes, err = s.prizesAsAdded(ctx, tx, w.poolID); err != nil {
				return err
			}
		}
		var line []byte
		for l, err := range s.linesWithin(ctx, tx, linesOf{w.poolID, w.salts, w.prizes}, lo+1, hi+draw.CountMax, tileSize) {
			switch {
			case int64(len(leaves)) == hi-lo: // what comes behind may be of a prize that was added since
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

// prove fills in the hashes of the proof: of whole tiles from those that are kept,
// of others from the rows. What is missing of either makes another root.
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
