package experiments

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/faults/history"
)

// TestSortOut: a draw that was won before the backup is kept, a draw after it is lost,
// and a draw that was under way during it may be kept or lost.
func TestSortOut(t *testing.T) {
	t.Parallel()
	at := func(call, answer time.Duration) history.Op {
		return history.Op{Kind: history.Draw, Call: call * time.Second, Return: answer * time.Second, Status: 200}
	}
	promised := map[string]history.Op{"early": at(1, 2), "meanwhile": at(2, 7), "beside": at(4, 5), "late": at(8, 9)}
	const before, after = 3 * time.Second, 6 * time.Second
	kept, wrong := sortOut(promised, []string{"beside", "late"}, before, after)
	require.Equal(t, 2, kept)
	require.Empty(t, wrong)
	for said, lost := range map[string][]string{
		"won before the backup, and lost":     {"early", "late"},
		"won after the backup, and not found": {},
		"promised to nobody":                  {"late", "other"},
	} {
		_, wrong := sortOut(promised, lost, before, after)
		require.Len(t, wrong, 1)
		require.Contains(t, wrong[0], said)
	}
}
