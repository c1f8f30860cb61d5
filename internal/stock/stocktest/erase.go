package stocktest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// planOf returns a plan of one user's draws. A repeated id makes one draw with several
// awards.
func planOf(user, poolID string, from, issued int64, drawIDs ...string) *urn.Plan {
	p := Plan(poolID, from, "a", issued, drawIDs...)
	for i := range p.Awards {
		p.Awards[i].UserID = user
		if i > 0 && p.Awards[i-1].DrawID == p.Awards[i].DrawID {
			p.Awards[i].Ordinal = p.Awards[i-1].Ordinal + 1
		}
	}
	return p
}

// leftOf returns an error that names what a history still reveals about an erased user.
// It checks the entries up to and including the change that erased the user.
func leftOf(entries []draw.Entry, user string) error {
	changes := 0
	for i := len(entries) - 1; i >= 0; i-- {
		switch e := entries[i]; {
		case e.Change != nil && e.Change.What == draw.WhatErased:
			changes++
			if strings.Contains(e.Change.Body+e.Change.Actor, user) {
				return fmt.Errorf("the change names the user: %s", e.Change.Body)
			}
		case e.Award != nil && e.Award.UserID == user && changes > 0:
			return fmt.Errorf("version %d is the user's", e.Award.Version)
		}
	}
	if changes != 1 {
		return fmt.Errorf("%d changes", changes)
	}
	return nil
}

// testErase: a user's awards get a pseudonym and are otherwise unchanged.
func testErase(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	const user = "Ann-of-the-tests"
	key := []byte("key of the tests")
	for _, id := range []string{"p", "q"} {
		Pool(t, s, id, 20)
		require.NoError(t, Write(t, s, stock.TxOptions{}, planOf(user, id, 2, 0, "d1", "d2", "d2", "d2")))
		require.NoError(t, Write(t, s, stock.TxOptions{}, planOf(strings.ToLower(user), id, 6, 4, "d3", "d4")))
	}
	before, err := s.Awards(ctx, "p", 0, 100)
	require.NoError(t, err)
	pseudonym := stock.Pseudonym(key, "p", user)
	n, err := s.EraseUser(ctx, "p", user, pseudonym, "cleo")
	require.NoError(t, err)
	require.Equal(t, int64(4), n)
	NoViolations(t, s, "p")
	after, err := s.Awards(ctx, "p", 0, 100)
	require.NoError(t, err)
	for i := range before {
		if before[i].UserID == user { // the other user's name differs only in spelling
			require.Equal(t, pseudonym, after[i].UserID)
			after[i].UserID = user
		}
	}
	require.Equal(t, before, after, "nothing else of them is another")
	lines := linesOf(t, s, "p")
	require.Equal(t, `user-forgotten {"awards":4} by cleo`, lines[len(lines)-1])
	entries, err := s.Log(ctx, "p", 0, 100)
	require.NoError(t, err)
	require.NoError(t, leftOf(entries, user))
	entries[3].Award.UserID = user // the broken double
	require.Error(t, leftOf(entries, user))
	d, err := s.Draw(ctx, "p", "d2")
	require.NoError(t, err)
	require.Equal(t, pseudonym, d.UserID)
	require.NoError(t, draw.CheckUser(d.UserID))

	n, err = s.EraseUser(ctx, "p", user, stock.Pseudonym([]byte("another"), "p", user), "cleo")
	require.NoError(t, err)
	require.Zero(t, n, "there is nothing left")
	require.Len(t, linesOf(t, s, "p"), len(lines), "and nothing has changed")
	other, err := s.Awards(ctx, "q", 0, 1)
	require.NoError(t, err)
	require.Equal(t, user, other[0].UserID, "another pool is not touched")
	require.NotEqual(t, pseudonym, stock.Pseudonym(key, "q", user), "pools cannot be connected")

	_, err = s.EraseUser(ctx, "none", user, pseudonym, "cleo")
	code(t, draw.CodePoolNotFound, err)
	for _, bad := range [][3]string{{"", pseudonym, "cleo"}, {user, "", "cleo"}, {user, pseudonym, ""}} {
		_, err = s.EraseUser(ctx, "q", bad[0], bad[1], bad[2])
		code(t, draw.CodeInvalidRequest, err)
	}
	ids, err := s.PoolIDs(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"p", "q"}, ids)
}

// testEraseWhileDrawing: all awards before the change are erased, including awards that
// are made while the search runs.
func testEraseWhileDrawing(t *testing.T, s *stock.Store) {
	const user = "Ann-of-the-tests"
	Pool(t, s, "p", 3000)
	require.NoError(t, Write(t, s, stock.TxOptions{}, planOf(user, "p", 2, 0, "first")))
	ctx, end := context.WithCancel(t.Context())
	drawn := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil && n < 2000; n++ {
			u := urn.NewUrn("p")
			tx, err := s.Read(t.Context(), u, stock.TxOptions{Lock: true})
			if err != nil {
				continue // the read came at the same time as the change
			}
			ask := &urn.Ask{Request: draw.Request{PoolID: "p", UserID: user, DrawID: fmt.Sprint("d", n), Count: 1}}
			_ = tx.Write(t.Context(), u.Plan([]*urn.Ask{ask}, s.Now())) // the write may come at the same time, too
			tx.Rollback()
		}
		drawn <- n
	}()
	erased, err := s.EraseUser(t.Context(), "p", user, stock.Pseudonym([]byte("key"), "p", user), "cleo")
	end()
	<-drawn
	require.NoError(t, err)
	require.Positive(t, erased)
	entries, err := s.Log(t.Context(), "p", 0, 10_000)
	require.NoError(t, err)
	require.NoError(t, leftOf(entries, user))
	NoViolations(t, s, "p")
}
