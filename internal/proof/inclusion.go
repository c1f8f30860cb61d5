package proof

import (
	"encoding/base64"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/draw"
)

// Inclusion proves that consecutive lines are in the log of a checkpoint. For one line it
// is the proof of RFC 6962. For several lines, it leaves out the hashes that can be
// computed from the lines themselves. The other hashes keep their order.
type Inclusion struct {
	// Checkpoint is the signed note.
	Checkpoint string `json:"checkpoint"`
	// Index is the position of the first line in the log, from 0.
	Index int64 `json:"index"`
	// Hashes are in Base64.
	Hashes []string `json:"hashes"`
}

// Prove returns the proof that the lines with indexes from first to end-1 are in a tree
// of the given size. subtree returns the root over the lines from lo to hi-1.
func Prove(size, first, end int64, subtree func(lo, hi int64) (tlog.Hash, error)) ([]string, error) {
	p := prover{first: first, end: end, subtree: subtree}
	if err := p.prove(0, size); err != nil {
		return nil, err
	}
	encoded := make([]string, len(p.hashes))
	for i := range p.hashes {
		encoded[i] = base64.StdEncoding.EncodeToString(p.hashes[i][:])
	}
	return encoded, nil
}

type prover struct {
	first, end int64
	subtree    func(lo, hi int64) (tlog.Hash, error)
	hashes     []tlog.Hash
}

// prove appends the hashes for the subtree over the lines from lo to hi-1, which contains
// a proven line. For a half with such a line, it appends the hashes of that half's proof.
// For a half without one, it appends the half's root, after the hashes of the other half.
func (p *prover) prove(lo, hi int64) error {
	if hi-lo == 1 {
		return nil
	}
	middle := lo + half(hi-lo)
	without := [2]int64{}
	if p.first < middle {
		if err := p.prove(lo, middle); err != nil {
			return err
		}
	} else {
		without = [2]int64{lo, middle}
	}
	if p.end > middle {
		if err := p.prove(middle, hi); err != nil {
			return err
		}
	} else {
		without = [2]int64{middle, hi}
	}
	if without[1] == 0 {
		return nil
	}
	h, err := p.subtree(without[0], without[1])
	p.hashes = append(p.hashes, h)
	return err
}

// half returns the number of leaves in the left half of a tree with n leaves: the highest
// power of two below n. n is at least 2.
func half(n int64) int64 { return 1 << (bits.Len64(uint64(n-1)) - 1) }

// Subtree returns the root over the leaves from lo to hi-1. perfect returns the hashes
// that the caller has: hashes of leaves, and roots of larger perfect subtrees.
func Subtree(lo, hi int64, perfect func(lo, hi int64) (h tlog.Hash, ok bool)) (tlog.Hash, error) {
	if h, ok := perfect(lo, hi); ok {
		return h, nil
	}
	if hi-lo <= 1 {
		return tlog.Hash{}, draw.Errorf(draw.CodeInternal, "the hash of entry %d is not at hand", hi)
	}
	middle := lo + half(hi-lo)
	left, err := Subtree(lo, middle, perfect)
	if err != nil {
		return left, err
	}
	right, err := Subtree(middle, hi, perfect)
	return tlog.NodeHash(left, right), err
}

// Root returns the root that the proof and the lines imply for a tree of the given size.
// Error: CodeInvalidRequest.
func (p *Inclusion) Root(size int64, lines [][]byte) (tlog.Hash, error) {
	bad := draw.Errorf(draw.CodeInvalidRequest, "the proof of inclusion is not one of such lines")
	n := int64(len(lines))
	if p.Index < 0 || n == 0 || p.Index > size-n || len(p.Hashes) > 2*64 {
		return tlog.Hash{}, bad
	}
	r := rooting{first: p.Index, lines: lines}
	for _, encoded := range p.Hashes {
		b, err := base64.StdEncoding.Strict().DecodeString(encoded)
		var h tlog.Hash
		if err != nil || len(b) != len(h) || base64.StdEncoding.EncodeToString(b) != encoded {
			return h, bad
		}
		copy(h[:], b)
		r.hashes = append(r.hashes, h)
	}
	root := r.root(0, size)
	if r.missing || len(r.hashes) > 0 {
		return root, bad
	}
	return root, nil
}

type rooting struct {
	first   int64
	lines   [][]byte
	hashes  []tlog.Hash // the hashes that are not used yet
	missing bool
}

func (r *rooting) root(lo, hi int64) (h tlog.Hash) {
	switch {
	case hi <= r.first || lo >= r.first+int64(len(r.lines)):
		if len(r.hashes) == 0 {
			r.missing = true
			return h
		}
		h, r.hashes = r.hashes[0], r.hashes[1:]
		return h
	case hi-lo == 1:
		return LeafHash(r.lines[lo-r.first])
	}
	middle := lo + half(hi-lo)
	if middle <= r.first { // the half with a line comes first in the proof
		right := r.root(middle, hi)
		return tlog.NodeHash(r.root(lo, middle), right)
	}
	left := r.root(lo, middle)
	return tlog.NodeHash(left, r.root(middle, hi))
}
