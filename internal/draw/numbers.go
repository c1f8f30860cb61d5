package draw

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
)

// Numbers is the randomness of one version of a pool. The order of its use is a
// contract. Without rules: one number, the unit. Under the stock law: one for
// the win where the rules have a chance below 1, then one for the unit. Under
// the fixed law: one number. Nothing else uses any.
type Numbers interface {
	// Below returns a number from 0 to limit-1, each equally likely. limit is at
	// least 1.
	Below(limit int64) int64
}

// Source gives every version of a pool its numbers.
type Source interface {
	// Of returns the numbers of a version, from its first.
	Of(version int64) Numbers
}

// Seeds are the source of a pool that is committed to its numbers.
type Seeds interface {
	Source
	// Last is the last version that there are numbers for.
	Last() int64
}

// Secrets are what a service has unsealed of one commitment. Numbers and signatures
// are of the same one.
type Secrets struct {
	// Seeds are the numbers, nil where they cannot be had.
	Seeds Seeds
	// Signer is nil where this service cannot sign.
	Signer Signer
	// GivesReceipts reports whether every draw is answered with a receipt.
	GivesReceipts bool
}

// numbered refuses a draw of a pool whose numbers are committed where its seeds
// cannot be had, or are used up, and one with a receipt where they are secret.
// It is no gate: nothing of the pool decides it.
func (p *Plan) numbered(a *Ask) error {
	u := p.urn
	switch {
	case u.committed == 0 && a.Receipt:
		return ErrorNoReceipt(a.PoolID)
	case u.committed == 0:
		return nil
	case u.secrets.Seeds == nil:
		return Errorf(CodeSeedUnavailable, "the seed of pool %q is not at hand here; nothing happened", a.PoolID)
	case a.Receipt && u.secrets.Signer == nil:
		return Errorf(CodeSeedUnavailable, "the key of pool %q is not at hand here, so no receipt; nothing happened", a.PoolID)
	case p.From.Version+int64(len(p.Awards)+a.Count) > u.secrets.Seeds.Last():
		return Errorf(CodeSeedsSpent, "the seeds that pool %q was committed to are used up", a.PoolID)
	}
	return nil
}

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

// begin makes n the numbers of a version, from its first.
func (d *deck) begin(n *stream, version int64) {
	n.block, n.left = d.block, 0
	binary.BigEndian.PutUint64(n.block[4+keySize:], uint64(version))
}

// Keyed is the source of a pool whose numbers follow from a known key: those of
// a version are a function of the key and the version, as a deck's are. It has
// one owner at a time.
type Keyed struct {
	deck   deck
	stream stream
}

// SetKey replaces the key.
func (k *Keyed) SetKey(key [sha256.Size]byte) { copy(k.deck.block[4:], key[:]) }

// Of returns the numbers of a version, good until the next are asked for.
func (k *Keyed) Of(version int64) Numbers {
	k.deck.begin(&k.stream, version)
	return &k.stream
}

// stream is the numbers of one version: SHA-256(counter, key, version) for the
// counters 1, 2, …, four words of 64 bits each. This is the one-step key
// derivation of NIST SP 800-56C, with inputs of fixed length.
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

// Below returns a number from 0 to limit-1, each equally likely where the words are. It
// masks words to the bits that limit-1 needs, and rejects those that are
// too large: a modulo would favour the small numbers. On average fewer than
// two words are needed. limit is at least 1.
func Below(limit int64, next func() uint64) int64 {
	mask := uint64(1)<<bits.Len64(uint64(limit-1)) - 1
	for {
		if v := next() & mask; v < uint64(limit) {
			return int64(v)
		}
	}
}
