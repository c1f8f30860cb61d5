package lockmode_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/locker"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
)

// promise is a promise that every mode keeps, with every lock, on every dialect.
type promise struct {
	name string
	test func(*testing.T, *arena)
}

func promises() []promise {
	return []promise{
		{"sells out exactly", testSellOut},
		{"sells out exactly in draws of many", testSellOutInDraws},
		{"sells out exactly without group draws", testSellOutOneByOne},
		{"sells out exactly whatever becomes of commits", testSellOutThroughFaults},
		{"fresh", testFresh},
		{"fresh at the last unit", testFreshAtTheLast},
		{"fresh under rules that count", testFreshCounted},
		{"cached", testCached},
		{"fresh from the cached copy", testCachedFresh},
		{"cached under rules that count", testCachedCounts},
		{"users that seem new", testNewUsers},
		{"several windows", testSeveralWindows},
		{"restocked while drawn from", testRestock},
		{"same key at once", testSameKey},
		{"hedged keys at the edge", testHedged},
		{"key used again", testKeyAgain},
		{"draws of ten", testTens},
		{"known keys of a pool that is shut", testShut},
		{"a user's limit of draws", testLimit},
		{"limits of many users in draws of many", testLimits},
		{"redirects of limits and budget", testRedirects},
		{"no-wins under one key", testNoWins},
		{"rules replaced while drawn from", testRulesReplaced},
		{"an agenda", testAgenda},
		{"an agenda of a pool that is sold out", testAgendaOfSoldOut},
		{"winning moments", testMoments},
		{"rules that cannot be read", testRulesUnreadable},
		{"clock that has leapt", testClockLeapt},
		{"a planned item that cannot be read", testItemUnreadable},
		{"numbers that were committed", testCommitted},
		{"numbers that were committed in many pools", testCommittedPools},
		{"receipts", testReceipts},
		{"receipts of many pools", testReceiptsOfMany},
		{"receipts for all", testReceiptsForAll},
		{"a sealed deck", testSealedDeck},
		{"numbers whose seed is away", testSeedAway},
		{"numbers whose seed is another", testSeedWrong},
		{"numbers that are used up", testSeedsSpent},
		{"numbers of a beacon", testBeacon},
		{"numbers of a beacon from the cached copy", testBeaconCached},
		{"answer lost", testAnswerLost},
		{"bad apple", testBadApple},
		{"given up", testGivenUp},
		{"one unit, one code", testCodes},
		{"replays give the code", testCodeReplays},
		{"no code without a commit", testCodesUncommitted},
		{"codes that do not open", testCodesAway},
		{"codes that are damaged", testCodesDamaged},
		{"drained", testDrained},
	}
}

// TestMatrix checks every mode, with every lock, on every dialect, for the same
// promises. A further mode, lock or dialect is included by being registered.
//
// By default it runs a selection. Every combination of mode, dialect and lock occurs in
// it, and every promise with each mode, each lock and each dialect. Only `make test-all`
// checks every promise with every combination.
func TestMatrix(t *testing.T) {
	all, run := 0, 0
	for _, c := range cells() {
		chosen := chosenFor(c, servertest.Every())
		all, run = all+len(promises()), run+len(chosen)
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			a := newArena(t, c)
			for _, p := range chosen {
				t.Run(p.name, func(t *testing.T) { p.test(t, a) })
			}
		})
	}
	t.Logf("%d of %d promises of cells", run, all)
}

// chosenFor returns the promises that the cell has to keep.
func chosenFor(c cell, every bool) (chosen []promise) {
	row, layer, layers := place(c)
	for column, p := range promises() {
		if every || servertest.Meets(row, column, layer, layers) {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

// place returns the place of the cell among all cells. row is the place of its mode and
// lock. layer is the place of its dialect among the dialects that have this mode and
// lock, and layers is the number of these dialects.
func place(c cell) (row, layer, layers int) {
	var ways [][2]string
	var dialects []string
	for _, other := range cells() {
		way := [2]string{other.mode, other.lock}
		if !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
		if way == [2]string{c.mode, c.lock} {
			dialects = append(dialects, other.dialect)
		}
	}
	return slices.Index(ways, [2]string{c.mode, c.lock}), slices.Index(dialects, c.dialect), len(dialects)
}

// TestMatrixChoice: the selection contains each pair. If every combination is requested,
// all are run.
func TestMatrixChoice(t *testing.T) {
	type pair [2]string
	met, could, twice := map[pair]bool{}, map[pair]bool{}, map[pair]bool{}
	run := 0
	for _, c := range cells() {
		require.Len(t, chosenFor(c, true), len(promises()))
		for _, p := range promises() {
			could[pair{c.mode, p.name}], could[pair{c.lock, p.name}], could[pair{c.dialect, p.name}], could[pair{c.String()}] = true, true, true, true
		}
		for _, p := range chosenFor(c, false) {
			met[pair{c.mode, p.name}], met[pair{c.lock, p.name}], met[pair{c.dialect, p.name}], met[pair{c.String()}] = true, true, true, true
			if c.isVerifiedTwice() {
				twice[pair{c.dialect, p.name}], twice[pair{c.mode, p.name}] = true, true
			}
			run++
		}
	}
	require.Len(t, twice, (len(stock.Dialects())+len(lockmode.Names()))*len(promises()), "the second verifier judges each promise in each mode and on each dialect")
	require.Equal(t, could, met)
	ways := len(lockmode.Names()) - 1 + len(locker.Schemes()) + 1 // nobody
	require.Equal(t, ways*len(promises()), run, "each way meets each promise once")
}
