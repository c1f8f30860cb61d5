package urn

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"drawsvc/internal/draw"
)

// Numbers is the randomness of one version of a pool. The order in which it is used is
// a contract. Without rules: one number, for the unit. Under the stock law: one for the
// win if the rules have a chance below 1, then one for the unit. Under the fixed law:
// one number. Nothing else uses a number.
type Numbers interface {
	// Below returns a number from 0 to limit-1, each equally likely. limit is at
	// least 1.
	Below(limit int64) int64
}

// Source returns the numbers of every version of a pool.
type Source interface {
	// Of returns the numbers of a version, beginning with its first.
	Of(version int64) Numbers
}

// Seeds are the source of a committed pool.
type Seeds interface {
	Source
	// Last returns the last version that has numbers.
	Last() int64
}

// Secrets are the unsealed secrets of one commitment. Numbers and signatures belong to
// the same commitment.
type Secrets struct {
	// Seeds are the numbers, nil if they are unavailable.
	Seeds Seeds
	// Signer is nil if this service cannot sign.
	Signer draw.Signer
	// GivesReceipts reports whether every draw is answered with a receipt.
	GivesReceipts bool
	// AskedOf identifies the keys with which unsealing was tried, whether it succeeded or
	// not.
	AskedOf any
}

// deck gives every version of a pool its random numbers: the numbers of a version are a
// function of the key and the version, and do not depend on the batch or the attempt.
// After a failed write, the draws are planned again with the same numbers. So a failure
// that depends on the drawn units cannot bias the odds (law 3).
//
// The key is secret, and each history that is read gets a new key: after a restore the
// versions of the lost history occur again, and their results are known.
type deck struct {
	// block is the input of the hash: a counter, the key and the version.
	block [4 + keySize + 8]byte
}

const keySize = 32

func newDeck() *deck {
	d := &deck{}
	// Read never fails: without randomness it ends the program.
	_, _ = rand.Read(d.block[4 : 4+keySize])
	return d
}

// begin sets n to the numbers of a version, beginning with its first.
func (d *deck) begin(n *stream, version int64) {
	n.block, n.left = d.block, 0
	binary.BigEndian.PutUint64(n.block[4+keySize:], uint64(version))
}

// Keyed is the source of a pool whose numbers follow from a known key: the numbers of a
// version are a function of the key and the version, as with a deck. It has one owner
// at a time.
type Keyed struct {
	deck   deck
	stream stream
}

// SetKey replaces the key.
func (k *Keyed) SetKey(key [sha256.Size]byte) { copy(k.deck.block[4:], key[:]) }

// Of returns the numbers of a version, valid until the next call.
func (k *Keyed) Of(version int64) Numbers {
	k.deck.begin(&k.stream, version)
	return &k.stream
}

// stream yields the numbers of one version: SHA-256(counter, key, version) for the
// counters 1, 2, …, four words of 64 bits each. This is the one-step key derivation of
// NIST SP 800-56C, with inputs of fixed length.
type stream struct {
	block [4 + keySize + 8]byte
	words [sha256.Size]byte
	left  int // bytes of words that were not used
}

func (n *stream) next() uint64 {
	if n.left == 0 {
		binary.BigEndian.PutUint32(n.block[:4], binary.BigEndian.Uint32(n.block[:4])+1)
		n.words, n.left = sha256.Sum256(n.block[:]), sha256.Size
	}
	word := binary.BigEndian.Uint64(n.words[sha256.Size-n.left:])
	n.left -= 8
	return word
}

// Below returns a number from 0 to limit-1, each equally likely.
func (n *stream) Below(limit int64) int64 { return Below(limit, n.next) }

// Below returns a number from 0 to limit-1, each equally likely if all words are equally
// likely. It keeps only the bits of a word that limit-1 needs, and rejects the word if
// the result is too large. A modulo would favour the small numbers. On average it needs
// fewer than two words. limit is at least 1.
func Below(limit int64, next func() uint64) int64 {
	mask := uint64(1)<<bits.Len64(uint64(limit-1)) - 1
	for {
		if v := next() & mask; v < uint64(limit) {
			return int64(v)
		}
	}
}
