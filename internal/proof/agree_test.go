package proof

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// someRules returns documents that together use every law and every redirect. "" means no
// rules.
func someRules() []string {
	return []string{
		"",
		`{"win":"1/3","fallback":"none"}`,
		`{"win":"2/4","fallback":"none","limits":[{"of":"draws","max":4,"per":"day"},{"of":"wins","max":2,"per":"90m"}],"zone":"Europe/Berlin"}`,
		`{"odds":{"of":1000,"prizes":{"silver":300,"gold":100,"blank-card":50,"pin":0}},"fallback":"none","budget":{"max":"60.00","per":"hour"},"zone":"Europe/Berlin"}`,
		`{"fallback":"none","limits":[{"of":"prize","prize":"gold","max":1}],"guarantee":{"after":2,"prize":"silver"},"win":"1/4"}`,
		`{"fallback":"none","guarantee":{"after":0,"prize":"pin"},"budget":{"max":"500.00","per":"week"},"blocked":["u7"]}`,
		`{"limits":[{"of":"draws","max":9,"per":"1.5h"}],"blocked":["u1","ü \"8\""],"tickets":true}`,
		`{"odds":{"of":7,"prizes":{"silver":1,"gold":1,"pin":2}},"fallback":"none","limits":[{"of":"wins","max":3,"per":"week"},{"of":"draws","max":30,"per":"month"}]}`,
		`{"fallback":"none","limits":[{"of":"wins","max":9}],"low":[{"prize":"gold","below":3}],"claims":{"within":"3s","prizes":["gold","pin"]}}`,
		`{"win":"1/2","fallback":"none","claims":{"within":"8760h","return":false}}`,
	}
}

// lived returns a pool with a long history: rules of every kind, moves of stock in both
// directions, new prizes, pauses, draws of one and of many units. Its epochs have the
// given length.
func lived(t *testing.T, draws int, length int64) *world {
	w := newWorld(t)
	w.prize("silver", 90, "5.00")
	w.prize("gold", 9, "19.90")
	w.prize("none", -1, "0.00")
	w.prize("blank-card", 20, "0.00")
	w.rules(someRules()[2])
	w.commit(640, length)
	w.state(draw.StateOpen)
	for i := range draws {
		switch {
		case i == 5:
			w.prize("pin", 300, "0.50")
		case i%37 == 36 && i > 5:
			w.rules(someRules()[rand.IntN(len(someRules()))]) //nolint:gosec // any will do
		case i%23 == 22:
			w.restock([]string{"silver", "gold", "pin", "blank-card"}[rand.IntN(4)], rand.Int64N(40)-10) //nolint:gosec // any will do
		case i%101 == 100:
			w.state(draw.StatePaused)
			w.state(draw.StatePaused) // an agenda may set the state that the pool already has
			w.check()
			w.state(draw.StateOpen)
			w.state(draw.StateOpen)
		case i%13 == 12:
			w.moment(int64(i), []string{"silver", "gold", "pin"}[rand.IntN(3)]) //nolint:gosec // any will do
		case i%57 == 56:
			w.change(draw.WhatMode, []string{`{"mode":"optimistic"}`, `{"mode":null}`}[rand.IntN(2)]) //nolint:gosec // any will do
		}
		w.draw(fmt.Sprintf("draw-%d", i), fmt.Sprintf("u%d", rand.IntN(12)), 1+rand.IntN(3)) //nolint:gosec // any will do
	}
	return w
}

// TestVerifiersAgree: both verifiers accept a pool whose history has entries of all
// kinds. They recompute every award after the commitment.
func TestVerifiersAgree(t *testing.T) {
	w := lived(t, few(2000, 6000), 100)
	files := w.publishAll()
	r := verified(t, files, VerifyOptions{Key: w.key})
	require.Zero(t, r.Detail, "entry %d: %s", r.Entry, r.Rule)
	require.True(t, r.OK)
	require.Greater(t, r.Recomputed, int64(1000))
	code, last := secondSays(t, files, "--key", w.key)
	require.Equal(t, 0, code, last)
	require.Equal(t, fmt.Sprintf("%s: %d entries hold: %d awards replayed from version %d on, %d openings", worldOrigin, r.Entries, r.Recomputed, r.From, r.Openings), last)
}

// TestLargestRules: rules of the maximum size can be published, although the tag of
// each blocked user is longer than the user's name.
func TestLargestRules(t *testing.T) {
	w := newWorld(t)
	w.prize("none", -1, "0.00")
	odds, users := &strings.Builder{}, &strings.Builder{}
	for i := range draw.OddsMax {
		id := fmt.Sprintf("p%03d-%s", i, strings.Repeat("x", 48))
		w.prize(id, 1, "1.00")
		fmt.Fprintf(odds, `,%q:1`, id)
		fmt.Fprintf(users, `,"%03d"`, i)
	}
	document := fmt.Sprintf(`{"odds":{"of":1000,"prizes":{%s}},"fallback":"none","blocked":[%s]}`, odds.String()[1:], users.String()[1:])
	require.Greater(t, len(document), draw.RulesMax-4096)
	w.rules(document)
	w.commit(4, 1000)
	w.state(draw.StateOpen)
	w.rules(document)
	w.draw("d", "u", 3)
	files := w.publishAll()
	r := verified(t, files, VerifyOptions{Key: w.key})
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	code, last := secondSays(t, files, "--key", w.key)
	require.Equal(t, 0, code, last)
}
