package proof

import (
	"bytes"
	"errors"
	"hash/maphash"
)

// hashes is a set of hashes of 64 bits. It needs at most 22 bytes for each hash. It
// consists of parts that grow one by one, so that growing needs almost no additional
// memory. The zero value is empty.
type hashes [256]struct {
	slots []uint64 // 0 for none; the length is a power of two
	used  int
}

// add adds a hash, and reports whether the set already had it.
func (s *hashes) add(h uint64) bool {
	h = max(h, 1) // 0 means no hash
	part := &s[h>>56]
	if 4*(part.used+1) > 3*len(part.slots) {
		old := part.slots
		part.slots = make([]uint64, max(2*len(old), 16))
		for _, h := range old {
			if h != 0 {
				part.slots[slotOf(part.slots, h)] = h
			}
		}
	}
	at := slotOf(part.slots, h)
	if part.slots[at] == h {
		return true
	}
	part.slots[at] = h
	part.used++
	return false
}

// slotOf returns the slot that contains a hash, or else the free slot in which it
// belongs. At least one slot must be free.
func slotOf(slots []uint64, h uint64) uint64 {
	last := uint64(len(slots) - 1)
	at := h & last
	for slots[at] != 0 && slots[at] != h {
		at = (at + 1) & last
	}
	return at
}

// names are the names of the draws in the part of the log that was read. A log has
// millions of them, so only their hashes are kept. Each verification hashes with a new
// key, so that nobody can choose names with equal hashes.
type names struct {
	seed maphash.Seed
	hash func(maphash.Seed, string) uint64
	seen hashes
}

func newNames() *names { return &names{seed: maphash.MakeSeed(), hash: maphash.String} }

// isKnown reports whether an earlier line belongs to a draw of the same name. The given
// line must be the first line of its draw. If the name's hash is known, isKnown reads the
// log again to compare the names. Two names have equal hashes with a probability of 1 in
// 2^64.
func (v *verifier) isKnown(l *Line) (known bool, err error) {
	if !v.drawn.seen.add(v.drawn.hash(v.drawn.seed, l.Draw)) {
		return false, nil
	}
	member := []byte(`"draw":"` + l.Draw + `"`) // a quote within a text is escaped, so this matches only the member
	ended := errors.New("the lines before are read")
	left := l.Version
	err = v.eachLine(func(b []byte) error {
		left--
		known = left > 0 && bytes.Contains(b, member)
		if known || left == 0 {
			return ended
		}
		return nil
	})
	if errors.Is(err, ended) {
		err = nil
	}
	return known, err
}
