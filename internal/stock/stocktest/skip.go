package stocktest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// skippablePool creates a paused, committed pool with draws.
func skippablePool(t *testing.T, s *stock.Store) (version int64) {
	t.Helper()
	s.Unseal(Identities(t))
	Pool(t, s, "p", 5000, 5000)
	setState(t, s, "p", draw.StatePaused)
	require.NoError(t, Commit(t, s, "p", 4, 100_000))
	return drawnAndPaused(t, s, "before", 5)
}

// drawnAndPaused opens the pool for some draws, pauses it, and returns its version.
func drawnAndPaused(t *testing.T, s *stock.Store, name string, draws int) (version int64) {
	t.Helper()
	setState(t, s, "p", draw.StateOpen)
	urn := urn.NewUrn("p")
	for i := range draws {
		_, err := drawOne(t, s, urn, stock.TxOptions{}, "ann", fmt.Sprintf("%s-%d", name, i))
		require.NoError(t, err)
	}
	setState(t, s, "p", draw.StatePaused)
	p, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	return p.Version
}

// testSkip: each skipped version is a change with its reason and actor. Draws continue
// from the next version. The audit and the verifier accept the log.
func testSkip(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	head := skippablePool(t, s)
	skipped, err := s.SkipVersions(ctx, "p", head+3, "restored", "cleo")
	require.NoError(t, err)
	require.EqualValues(t, 3, skipped)
	skipped, err = s.SkipVersions(ctx, "p", head+3, "restored", "cleo")
	require.NoError(t, err, "the same call again")
	require.Zero(t, skipped)

	changes, err := s.Changes(ctx, "p", head, 100)
	require.NoError(t, err)
	require.Len(t, changes, 3)
	for i, c := range changes {
		require.Equal(t, draw.Change{
			Version: head + int64(i) + 1, PoolID: "p", What: draw.WhatSkipped, Body: `{"reason":"restored"}`, Actor: "cleo", At: c.At,
		}, c)
	}
	setState(t, s, "p", draw.StateOpen)
	made, err := drawOne(t, s, urn.NewUrn("p"), stock.TxOptions{}, "ann", "after")
	require.NoError(t, err)
	require.Equal(t, head+5, made.Awards[0].Version, "after the change that opened it")
	NoViolations(t, s, "p")
	r := proven(t, s)
	require.EqualValues(t, 3, r.Skipped)
	require.EqualValues(t, 6, r.Recomputed)
}

// testSkipRefused: a refused skip changes nothing.
func testSkipRefused(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	head := skippablePool(t, s)
	Pool(t, s, "secret", 1)
	setState(t, s, "secret", draw.StatePaused)
	skip := func(pool string, to int64, reason, actor string) error {
		skipped, err := s.SkipVersions(ctx, pool, to, reason, actor)
		require.Zero(t, skipped)
		return err
	}
	code(t, draw.CodePoolNotFound, skip("q", head+1, "", "cleo"))
	code(t, draw.CodeNotFound, skip("secret", head+1, "", "cleo"))
	code(t, draw.CodeInvalidRequest, skip("p", 0, "", "cleo"))
	code(t, draw.CodeInvalidRequest, skip("p", head+1_000_001, "", "cleo"))
	code(t, draw.CodeInvalidRequest, skip("p", head+1, "a\nb", "cleo"))
	code(t, draw.CodeInvalidRequest, skip("p", head+1, "", ""))
	setState(t, s, "p", draw.StateOpen)
	code(t, draw.CodePoolOpen, skip("p", head+2, "", "cleo"))
	setState(t, s, "p", draw.StateClosed)
	code(t, draw.CodePoolClosed, skip("p", head+9, "", "cleo"))
	p, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, head+2, p.Version, "opened and closed")
}

// testSkipInParts: several callers skip to the same version, each in several
// transactions. No version is skipped twice.
func testSkipInParts(t *testing.T, s *stock.Store) {
	head := skippablePool(t, s)
	var skipped atomic.Int64
	var callers sync.WaitGroup
	for range 3 {
		callers.Go(func() {
			n, err := s.SkipVersions(t.Context(), "p", head+2500, "", "cleo")
			skipped.Add(n)
			if err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	require.EqualValues(t, 2500, skipped.Load())
	p, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, head+2500, p.Version)
	NoViolations(t, s, "p")
	require.EqualValues(t, 2500, proven(t, s).Skipped)
}

// testSkipWhatWasLost: rows are reset to a state before some draws. The lost versions
// would then give the same prizes again, which everyone who saw the results knows. After
// a skip, these versions give nothing.
func testSkipWhatWasLost(t *testing.T, s *stock.Store) {
	skippablePool(t, s)
	kept := Keep(t, s, "p")
	lost := drawnAndPaused(t, s, "lost", 40)
	given := prizesAfter(t, s, 0)
	kept.PutBack(t, s)
	require.Equal(t, lost, drawnAndPaused(t, s, "again", 40))
	require.Equal(t, given, prizesAfter(t, s, 0), "each version gives again what it gave")

	kept.PutBack(t, s)
	_, err := s.SkipVersions(t.Context(), "p", lost, "restored", "cleo")
	require.NoError(t, err)
	drawnAndPaused(t, s, "after", 40)
	require.Len(t, prizesAfter(t, s, lost), 40)
	require.Len(t, prizesAfter(t, s, 0), 45)
}

// prizesAfter returns the prizes of the awards after a version, by version.
func prizesAfter(t *testing.T, s *stock.Store, after int64) map[int64]string {
	t.Helper()
	found := map[int64]string{}
	entries, err := s.Log(t.Context(), "p", after, 1000)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Award != nil {
			found[e.Award.Version] = e.Award.PrizeID
		}
	}
	return found
}
