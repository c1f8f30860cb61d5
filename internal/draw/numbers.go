package draw

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// deck gives every version of a pool its random numbers: the numbers of a
// version are a function of the key and the version, whatever batch or attempt
// makes it. A write that failed is planned again with the same numbers, so a
// failure that depends on what was picked cannot bend the odds (law 3).
//
// The key is secret and is made anew for each history that is read: after a
// restore the versions of the lost history come again, and what they gave is
// known.
type deck struct {
	// block is what is hashed: a counter, the key and the version.
	block [4 + keySize + 8]byte
}

const keySize = 32

func newDeck() *deck {
	d := &deck{}
	// Read never fails: where there is no randomness it ends the program.
	_, _ = rand.Read(d.block[4 : 4+keySize])
	return d
}

// of returns the numbers of a version, from its first.
func (d *deck) of(version int64) numbers {
	n := numbers{block: d.block}
	binary.BigEndian.PutUint64(n.block[4+keySize:], uint64(version))
	return n
}

// numbers is the stream of one version: SHA-256(counter, key, version) for the
// counters 1, 2, …, four words of 64 bits each. This is the one-step key
// derivation of NIST SP 800-56C, with inputs of fixed length.
type numbers struct {
	block [4 + keySize + 8]byte
	words [sha256.Size]byte
	left  int // bytes of words that were not used
}

func (n *numbers) next() uint64 {
	if n.left == 0 {
		binary.BigEndian.PutUint32(n.block[:4], binary.BigEndian.Uint32(n.block[:4])+1)
		n.words, n.left = sha256.Sum256(n.block[:]), sha256.Size
	}
	word := binary.BigEndian.Uint64(n.words[sha256.Size-n.left:])
	n.left -= 8
	return word
}

// below returns a number from 0 to n-1, each equally likely.
func (n *numbers) below(limit int64) int64 { return below(limit, n.next) }

// below masks words to the bits that limit-1 needs, and rejects those that are
// too large: a modulo would favour the small numbers. On average fewer than
// two words are needed. limit is at least 1.
func below(limit int64, next func() uint64) int64 {
	mask := uint64(1)<<bits.Len64(uint64(limit-1)) - 1
	for {
		if v := next() & mask; v < uint64(limit) {
			return int64(v)
		}
	}
}
