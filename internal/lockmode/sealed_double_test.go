package lockmode_test

import (
	"context"
	"crypto/rand"
	"math/big"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// seeded is a store that gives urns other seeds than those of their pools.
type seeded struct {
	lockmode.Store
	other func() urn.Seeds
	given sync.Map // maps *urn.Urn to urn.Seeds; the seeds of a broken double may depend on earlier results
}

func (s *seeded) Read(ctx context.Context, u *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	tx, err := s.Store.Read(ctx, u, o)
	if err == nil {
		seeds, known := s.given.Load(u)
		if !known {
			seeds = s.other()
			s.given.Store(u, seeds)
		}
		u.SetSecrets(urn.Secrets{Seeds: seeds.(urn.Seeds)})
	}
	return tx, err
}

// dice are the numbers of a service that ignores its pool's commitment.
type dice struct{ *proof.Numbers }

func (d dice) Of(int64) urn.Numbers { return d }

func (d dice) Below(limit int64) int64 {
	n, _ := rand.Int(rand.Reader, big.NewInt(limit)) // it never fails
	return n.Int64()
}

// counted are numbers of a sequence that continues even if a plan is undone. As long as
// no plan is undone, they are the right ones.
type counted struct {
	*proof.Numbers
	next int64
}

func (c *counted) Of(version int64) urn.Numbers {
	c.next = max(c.next, version-1) + 1
	return c.Numbers.Of(min(c.next, c.Last()))
}

// TestSealedDeckCondemns: the test detects an instance, one of three, that uses random
// numbers instead of the seed. It also detects numbers that an undone plan uses up.
func TestSealedDeckCondemns(t *testing.T) {
	t.Parallel()
	rigged := func(other func() urn.Seeds) edit {
		return func(s *settings) { s.Store, s.Sharer = &seeded{Store: s.Store, other: other}, nil }
	}
	rolled := rigged(func() urn.Seeds { return dice{deckNumbers(t)} })
	kept := rigged(func() urn.Seeds { return &counted{Numbers: deckNumbers(t)} })
	right := rigged(func() urn.Seeds { return deckNumbers(t) })
	undone := func(s *settings) { deckFaults()(s); s.BatchMax = 8 }
	for _, c := range []cell{{mode: lockmode.ForUpdate, dialect: "postgres"}, {mode: lockmode.Optimistic, dialect: "sqlite"}} {
		a := newArena(t, c)
		want := deckReplayed(t)
		for name, tc := range map[string]struct {
			services []*service
			caught   bool
		}{
			"dice": {[]*service{a.serve(t, 0), a.serve(t, 1), a.serve(t, 2, rolled)}, true},
			"kept": {[]*service{a.serve(t, 0, undone, kept)}, true},
			"none": {[]*service{a.serve(t, 0, undone, right)}, false},
		} {
			drawn := a.play(t, tc.services, a.deck(t))
			require.Equal(t, tc.caught, !slices.Equal(want, drawn), "%s, %s", c, name)
		}
	}
}
