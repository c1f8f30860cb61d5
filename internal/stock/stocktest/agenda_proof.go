package stocktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// testAgendaCommitted: a move that is due after a committed pool is closed cannot be
// made. Its item is recorded as failed and blocks no other item.
func testAgendaCommitted(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	s.Unseal(Identities(t))
	campaign(t, s, "p", `{"fallback":"none"}`)
	_, err := s.ChangePool(ctx, "p", draw.PoolChange{State: new(draw.StatePaused)}, "test")
	require.NoError(t, err)
	require.NoError(t, Commit(t, s, "p", 2, 100))
	at := InTime(t, s, "p", func(at time.Time) error {
		if err := plan(t, s, "p", []draw.Item{StockAt(at, "gold", 5), StockAt(at, "gold", 7)}); err != nil {
			return err
		}
		_, err := s.ChangePool(ctx, "p", draw.PoolChange{State: new(draw.StateClosed)}, "test")
		return err
	})
	before, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	Await(t, s, at)
	require.NoError(t, s.RunDue(ctx, "p"))
	_, err = s.ChangePool(ctx, "p", draw.PoolChange{Archived: new(true)}, "test")
	require.NoError(t, err)

	entries, err := s.Log(ctx, "p", before.Version, 10)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	for i, e := range entries[:2] {
		require.Equal(t, draw.WhatAgenda, e.Change.What, "item %d", i+1)
		require.Contains(t, e.Change.Body, `"failed":"pool-closed"`)
	}
	require.Empty(t, left(t, s, `SELECT COUNT(*) FROM agenda WHERE done = 0`))
	NoViolations(t, s, "p")
	_, err = s.Reveal(ctx, "p")
	require.NoError(t, err)
	_, files := Export(t, s, "p")
	r, err := proof.Verify(files, proof.VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
}

// testAgendaCommittedCloses: if the items of a committed pool are carried out together,
// those before the closing still come before it.
func testAgendaCommittedCloses(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	campaign(t, s, "p", `{"fallback":"none"}`)
	_, err := s.ChangePool(ctx, "p", draw.PoolChange{State: new(draw.StatePaused)}, "test")
	require.NoError(t, err)
	require.NoError(t, Commit(t, s, "p", 2, 100))
	_, err = s.ChangePool(ctx, "p", draw.PoolChange{State: new(draw.StateOpen)}, "test")
	require.NoError(t, err)
	at := planSoon(t, s, "p", func(at time.Time) []draw.Item {
		return []draw.Item{StockAt(at, "gold", 5), StateAt(at, draw.StateClosed), StockAt(at, "gold", 7)}
	})
	before, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	Await(t, s, at)
	require.NoError(t, s.RunDue(ctx, "p"))
	entries, err := s.Log(ctx, "p", before.Version, 10)
	require.NoError(t, err)
	require.Len(t, entries, 3)
	require.EqualValues(t, 5, entries[0].Move.Delta)
	require.Equal(t, draw.WhatState, entries[1].Change.What)
	require.Contains(t, entries[2].Change.Body, `"failed":"pool-closed"`)
	NoViolations(t, s, "p")
}

// testTurnsOfAbsent: if a pool is deleted after it was read, a read of its turns reports
// a conflict. The next read of the pool returns the reason.
func testTurnsOfAbsent(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	campaign(t, s, "p", `{"fallback":"none","limits":[{"of":"draws","max":3}]}`)
	u := urn.NewUrn("p")
	tx, err := s.Read(ctx, u, stock.TxOptions{})
	require.NoError(t, err)
	tx.Rollback()
	require.NoError(t, s.DeletePool(ctx, "p", nil, "test"))
	for _, lock := range []bool{false, true} {
		tx, err := s.Resume(ctx, stock.TxOptions{Lock: lock})
		require.NoError(t, err)
		_, err = tx.Turns(ctx, u, []urn.Need{{Subject: "u", Counted: draw.CountedDraw}})
		tx.Rollback()
		require.Equal(t, stock.ClassConflict, stock.ClassOf(err), "lock %v: %v", lock, err)
	}
}

// testAgendaCommittedAgain: an item that sets the state which the pool already has is
// still a line of the public log.
func testAgendaCommittedAgain(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	s.Unseal(Identities(t))
	campaign(t, s, "p", `{"fallback":"none"}`)
	_, err := ChangeState(t, s, "p", draw.StatePaused, nil)
	require.NoError(t, err)
	require.NoError(t, Commit(t, s, "p", 2, 100))
	at := planSoon(t, s, "p", func(at time.Time) []draw.Item {
		return []draw.Item{StateAt(at, draw.StatePaused), StateAt(at.Add(1e6), draw.StateOpen), StateAt(at.Add(2e6), draw.StateOpen)}
	})
	Await(t, s, at.Add(2e6))
	require.NoError(t, s.RunDue(ctx, "p"))
	r := proven(t, s)
	require.EqualValues(t, 1, r.Openings)
}
