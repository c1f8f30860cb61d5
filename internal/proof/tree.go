package proof

import (
	"crypto/sha256"

	"golang.org/x/mod/sumdb/tlog"
)

// Tree is an RFC 6962 tree to which leaves can be added. It keeps only the roots of its
// perfect subtrees, at most 63.
type Tree struct {
	size int64
	// peaks are the roots of the perfect subtrees, the largest first.
	peaks []tlog.Hash
}

// NewTree returns a tree of size leaves. peaks are the roots of its perfect subtrees, the
// largest first.
func NewTree(size int64, peaks []tlog.Hash) *Tree { return &Tree{size, peaks} }

// LeafHash returns the hash of a line as a leaf.
func LeafHash(line []byte) tlog.Hash {
	const room = 512 // so that the hash of most lines needs no allocation
	return sha256.Sum256(append(append(make([]byte, 0, room), 0), line...))
}

// Add adds the line as the next leaf.
func (t *Tree) Add(line []byte) { t.AddHash(LeafHash(line)) }

// AddHash adds the next leaf by its hash.
func (t *Tree) AddHash(h tlog.Hash) { t.Grow(h, func(tlog.Hash) {}) }

// Grow adds the next leaf by its hash. It calls made with each new hash: the hash of the
// leaf, and the root of each perfect subtree that the leaf completes.
func (t *Tree) Grow(h tlog.Hash, made func(tlog.Hash)) {
	made(h)
	for size := t.size; size&1 == 1; size >>= 1 {
		h = tlog.NodeHash(t.peaks[len(t.peaks)-1], h)
		t.peaks = t.peaks[:len(t.peaks)-1]
		made(h)
	}
	t.peaks = append(t.peaks, h)
	t.size++
}

// Size returns the number of leaves.
func (t *Tree) Size() int64 { return t.size }

// Root returns the root over all leaves. Without leaves it is the hash of an empty input.
func (t *Tree) Root() tlog.Hash {
	if t.size == 0 {
		root, _ := tlog.TreeHash(0, nil) // for no leaves it reads nothing, so it cannot fail
		return root
	}
	root := t.peaks[len(t.peaks)-1]
	for i := len(t.peaks) - 2; i >= 0; i-- {
		root = tlog.NodeHash(t.peaks[i], root)
	}
	return root
}
