// Package publiclog stores the commitments of pools to their numbers, and the data that
// committed pools publish. These are the beacon rounds of their openings, the lines of
// their public logs, receipts, proofs of inclusion, checkpoints and the reveal.
package publiclog

import (
	"sync/atomic"

	"drawsvc/internal/proof"
	"drawsvc/internal/stock/ledger"
)

// Store holds the commitments and public logs of a ledger's pools. It is safe for
// concurrent use.
type Store struct {
	ledger *ledger.Ledger
	// identities may be replaced while draws continue; nil means none.
	identities atomic.Pointer[proof.Identities]
	unsealed   unsealedCache
	hashes     hashCache
}

// New returns the store of the commitments of a ledger's pools. From then on, these guard
// the ledger's changes. identities unseal the secrets; nil means none.
func New(l *ledger.Ledger, identities *proof.Identities) *Store {
	s := &Store{ledger: l}
	s.identities.Store(identities)
	l.Guard = guard{s}
	return s
}
