package checkup_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/checkup"
)

// awaitFindings repeats the check-up until it finds exactly these: servers take time to
// notice each other, and until then may not answer.
func awaitFindings(t *testing.T, url string, want []string) {
	t.Helper()
	awaitFound(t, url, usual("table"), want)
}

// awaitFound is awaitFindings with options: a limit that the server was given may also
// end the queries of a busy machine.
func awaitFound(t *testing.T, url string, o checkup.Options, want []string) {
	t.Helper()
	var found []string
	var err error
	require.Eventually(t, func() bool {
		found, err = tryCheckUp(t, url, o)
		return err == nil && slices.Equal(found, want)
	}, waitMax, tick, "%v", want)

}
