package proof

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"

	"drawsvc/internal/draw/urn"
)

// Seed is one seed of a chain. The seed before it in the chain is its SHA-256.
type Seed [sha256.Size]byte

// NewSeed creates the last seed of a new chain.
func NewSeed() (s Seed) {
	// Read never fails: without randomness it ends the program.
	_, _ = rand.Read(s[:])
	return s
}

// Before returns the seed that is the given number of steps before s in its chain.
func (s Seed) Before(steps int64) Seed {
	for range steps {
		s = sha256.Sum256(s[:])
	}
	return s
}

// drawKeyLabel begins the input from which the key of an epoch is derived.
const drawKeyLabel = "drawsvc draw key v1\n"

// Key returns the key for the numbers of an epoch. seed is the seed at position epoch+1
// of the chain, c the hash of the commitment. beacon is 32 zero bytes if no beacon is
// mixed in.
func Key(seed Seed, c [sha256.Size]byte, epoch int64, beacon [sha256.Size]byte) (key [sha256.Size]byte) {
	sum := hmac.New(sha256.New, seed[:])
	sum.Write([]byte(drawKeyLabel))
	sum.Write(c[:])
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(epoch)))
	sum.Write(beacon[:])
	sum.Sum(key[:0])
	return key
}

// Numbers returns the numbers of the versions of a committed pool, up to the last version
// that the known seed determines. It has one owner at a time. It implements urn.Seeds.
type Numbers struct {
	commitment *Commitment
	hash       [sha256.Size]byte
	// version is the version of the commitment's entry.
	version int64
	// seeds are the seeds from the anchor, at index 0, up to the last known one.
	seeds []Seed
	keyed urn.Keyed
	epoch int64
	// beacon is the value that the latest opening has mixed in.
	beacon [sha256.Size]byte
}

// NewNumbers returns the numbers under a commitment whose entry has the given version.
// seed is at position place of the chain. NewNumbers returns false if the seed does not
// lead to the anchor.
func NewNumbers(c *Commitment, version int64, seed Seed, place int64) (*Numbers, bool) {
	if place < 1 || place > c.Epochs {
		return nil, false
	}
	seeds := make([]Seed, place+1)
	for ; place > 0; place-- {
		seeds[place], seed = seed, sha256.Sum256(seed[:])
	}
	seeds[0] = seed
	return &Numbers{commitment: c, hash: c.Hash(), version: version, seeds: seeds, epoch: -1}, seed == c.Anchor
}

// Of returns the numbers of a version, valid until the next call. The version must be
// after the commitment's and at most Last.
func (n *Numbers) Of(version int64) urn.Numbers {
	if epoch := n.commitment.Epoch(n.version, version); epoch != n.epoch {
		n.keyed.SetKey(Key(n.seeds[epoch+1], n.hash, epoch, n.beacon))
		n.epoch = epoch
	}
	return n.keyed.Of(version)
}

// Last returns the last version that has numbers.
func (n *Numbers) Last() int64 {
	return n.version + n.commitment.EpochLength*int64(len(n.seeds)-1)
}

// Beacon returns the beacon of the commitment, nil for none.
func (n *Numbers) Beacon() *Beacon { return n.commitment.Beacon }

// Mix mixes the randomness of an opening's round into the numbers of later versions.
func (n *Numbers) Mix(beacon [sha256.Size]byte) { n.beacon, n.epoch = beacon, -1 }

// Copy returns the same numbers for another owner.
func (n *Numbers) Copy() *Numbers {
	other := *n
	return &other
}
