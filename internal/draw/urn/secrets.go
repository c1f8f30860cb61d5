package urn

import (
	"crypto/sha256"

	"drawsvc/internal/draw"
)

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

// commitTo sets the version that committed the pool to its numbers, and the version that
// opened it with a round; 0 for none. If one of them changes, it drops the secrets: a new
// round changes all numbers.
func (u *Urn) commitTo(version, opened int64) {
	if u.committed != version || u.opened != opened {
		u.ForgetSecrets()
		u.committed, u.opened = version, opened
	}
}

// Opened returns the version of the change that opened the pool with a round of its
// beacon, 0 for none.
func (u *Urn) Opened() int64 { return u.opened }

// LacksSecrets reports whether the pool is committed to its numbers, and
// [Urn.SetSecrets] was not called yet.
func (u *Urn) LacksSecrets() bool { return u.committed != 0 && !u.asked }

// IsAway reports whether the pool is committed to numbers that are unavailable here.
func (u *Urn) IsAway() bool { return u.committed != 0 && u.asked && u.secrets.Seeds == nil }

// AskedOf returns the AskedOf of the secrets that were last set.
func (u *Urn) AskedOf() any { return u.secrets.AskedOf }

// ForgetSecrets makes the urn lack secrets again.
func (u *Urn) ForgetSecrets() { u.secrets, u.source, u.asked = Secrets{}, nil, false }

// SetSecrets gives a committed pool its numbers and the signer of its receipts. Without
// seeds, all draws are refused with CodeSeedUnavailable. Without a signer, draws that
// request a receipt are refused with the same code.
func (u *Urn) SetSecrets(s Secrets) {
	u.secrets, u.source, u.asked = s, nil, true
	if s.Seeds != nil {
		u.source = s.Seeds
	}
}

// Seeds returns the numbers of a committed pool, nil if they are unavailable.
func (u *Urn) Seeds() Seeds { return u.secrets.Seeds }
