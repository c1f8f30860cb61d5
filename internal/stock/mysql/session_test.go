package mysql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLongChangesCommit: a change without a deadline has time to commit, however long it
// took. A change with a deadline must commit before the deadline.
func TestLongChangesCommit(t *testing.T) {
	now := time.Now()
	require.Equal(t, now.Add(adminSilence), commitBy(time.Time{}, now))
	require.Equal(t, now.Add(-time.Hour), commitBy(now.Add(-time.Hour), now))
}
