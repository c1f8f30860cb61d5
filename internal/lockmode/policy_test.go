package lockmode

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
)

// TestPolicy tests the next action after an attempt, depending on its result and on the
// attempts and the time used.
func TestPolicy(t *testing.T) {
	const budget = 500 * time.Millisecond
	locking := policy{attempts: attemptsMax, budget: budget}
	optimistic := policy{attempts: 4, budget: budget, lockLast: true}
	for name, c := range map[string]struct {
		policy policy
		class  stock.Class
		spent  spent
		want   verdict
	}{
		"first conflict":               {locking, stock.ClassConflict, spent{attempts: 1}, retryLater},
		"last conflict":                {locking, stock.ClassConflict, spent{attempts: attemptsMax}, giveUp},
		"conflict, time is over":       {locking, stock.ClassConflict, spent{attempts: 1, elapsed: budget}, giveUp},
		"optimistic conflict":          {optimistic, stock.ClassConflict, spent{attempts: 1}, retryLater},
		"the last ones lock":           {optimistic, stock.ClassConflict, spent{attempts: 2}, retryLocked},
		"time is over, one locks":      {optimistic, stock.ClassConflict, spent{attempts: 1, elapsed: budget}, retryLocked},
		"locked, and still a conflict": {optimistic, stock.ClassConflict, spent{attempts: 3, elapsed: budget, locked: 1}, retryLocked},
		"locked again and again":       {optimistic, stock.ClassConflict, spent{attempts: 3, elapsed: budget, locked: lockedMax}, giveUp},
		"as often as allowed":          {optimistic, stock.ClassConflict, spent{attempts: 4, locked: 1}, giveUp},
		"one attempt is all":           {policy{attempts: 1, budget: budget, lockLast: true}, stock.ClassConflict, spent{attempts: 1}, giveUp},
		"known key":                    {optimistic, stock.ClassKnownKey, spent{attempts: 4, knownKeys: 1, elapsed: budget}, retryNow},
		"known keys without end":       {locking, stock.ClassKnownKey, spent{attempts: 1, knownKeys: knownKeysMax, elapsed: budget}, giveUp},
		"database away":                {locking, stock.ClassUnavailable, spent{attempts: 1, unavailable: 1}, retryLater},
		"database still away":          {locking, stock.ClassUnavailable, spent{attempts: 3, unavailable: unavailableMax}, giveUp},
		"nobody expected it":           {locking, stock.ClassOther, spent{attempts: 1}, giveUp},
		"stale token":                  {locking, stock.ClassStaleToken, spent{attempts: 1}, giveUp},
		"in doubt":                     {optimistic, stock.ClassUnknown, spent{attempts: 9, elapsed: 2 * budget, inDoubt: true}, retryLater},
		"in doubt, database away":      {locking, stock.ClassUnavailable, spent{attempts: 9, unavailable: 9, inDoubt: true}, retryLater},
		"in doubt, nobody expected it": {locking, stock.ClassOther, spent{attempts: 2, inDoubt: true}, giveUp},
	} {
		require.Equal(t, c.want, c.policy.next(c.class, c.spent), name)
	}
}

// TestKnownKeyAttemptIsNotCounted: an attempt that met a known key does not count towards
// the maximum number of attempts.
func TestKnownKeyAttemptIsNotCounted(t *testing.T) {
	var s spent
	for _, class := range []stock.Class{stock.ClassConflict, stock.ClassKnownKey, stock.ClassUnavailable, stock.ClassUnknown} {
		s.add(class)
	}
	require.Equal(t, spent{attempts: 3, unavailable: 1, knownKeys: 1}, s)
}
