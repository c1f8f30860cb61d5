package proof

import (
	"bytes"
	"errors"
	"hash/maphash"
)

// hashes is a set of hashes of 64 bits, in 22 bytes each at most. Its parts grow
// one by one, so that growing takes no memory of its own. The zero value is empty.
type hashes [256]struct {
	slots []uint64 // 0 for none; a power of two of them
	used  int
}

// add adds a hash, and says whether it was there.
func (s *hashes) add(h uint64) bool {
	h = max(h, 1) // 0 is no hash
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

// slotOf is the slot of a hash, or the one where it belongs. One is free.
func slotOf(slots []uint64, h uint64) uint64 {
	last := uint64(len(slots) - 1)
	at := h & last
	for slots[at] != 0 && slots[at] != h {
		at = (at + 1) & last
	}
	return at
}

// names are those of a log's draws as far as it was read. A log has millions, so
// their hashes are kept alone. The hash has a key of its own for each
// verification: nobody can choose names whose hashes are equal.
type names struct {
	seed maphash.Seed
	hash func(maphash.Seed, string) uint64
	seen hashes
}

func newNames() *names { return &names{seed: maphash.MakeSeed(), hash: maphash.String} }

// isKnown says whether a line before has the draw of a line, the first of its
// draw. Where the hash is known, which two names in 2^64 share, the log is read
// again: the answer is exact.
func (v *verifier) isKnown(l *Line) (known bool, err error) {
	if !v.drawn.seen.add(v.drawn.hash(v.drawn.seed, l.Draw)) {
		return false, nil
	}
	member := []byte(`"draw":"` + l.Draw + `"`) // a quote within a text is escaped
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
