package mysql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestLongChangesCommit: a change without a deadline commits however long it took, and
// one with a deadline by then.
func TestLongChangesCommit(t *testing.T) {
	now := time.Now()
	require.Equal(t, now.Add(adminSilence), commitBy(time.Time{}, now))
	require.Equal(t, now.Add(-time.Hour), commitBy(now.Add(-time.Hour), now))
}
