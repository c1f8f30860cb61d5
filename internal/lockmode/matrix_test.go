package lockmode_test

import "testing"

// TestMatrix holds every mode, with every lock, on every dialect, to the same
// promises. A further mode, lock or dialect is in it by being registered.
func TestMatrix(t *testing.T) {
	cases := []struct {
		name string
		test func(*testing.T, *arena)
	}{
		{"sells out exactly", testSellOut},
		{"sells out exactly in draws of many", testSellOutInDraws},
		{"sells out exactly without group draws", testSellOutOneByOne},
		{"sells out exactly whatever becomes of commits", testSellOutThroughFaults},
		{"fresh", testFresh},
		{"fresh at the last unit", testFreshAtTheLast},
		{"cached", testCached},
		{"fresh from the cached copy", testCachedFresh},
		{"cached under rules that count", testCachedCounts},
		{"restocked while drawn from", testRestock},
		{"same key at once", testSameKey},
		{"hedged keys at the edge", testHedged},
		{"key used again", testKeyAgain},
		{"draws of ten", testTens},
		{"known keys of a pool that is shut", testShut},
		{"a user's limit of draws", testLimit},
		{"limits of many users in draws of many", testLimits},
		{"redirects of limits and budget", testRedirects},
		{"rules replaced while drawn from", testRulesReplaced},
		{"an agenda", testAgenda},
		{"an agenda of a pool that is sold out", testAgendaOfSoldOut},
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
		{"drained", testDrained},
	}
	for _, c := range cells() {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			a := newArena(t, c)
			for _, tc := range cases {
				t.Run(tc.name, func(t *testing.T) { tc.test(t, a) })
			}
		})
	}
}
