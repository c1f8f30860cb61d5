package checkup_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/checkup"
)

// awaitFindings repeats the check-up until it finds exactly the wanted findings. Servers
// need time to notice each other, and until then may not answer.
func awaitFindings(t *testing.T, url string, want []string) {
	t.Helper()
	awaitFound(t, url, usual("table"), want)
}

// awaitFound is awaitFindings with options. It repeats queries, because on a busy machine
// a time limit that the test set may end them too.
func awaitFound(t *testing.T, url string, o checkup.Options, want []string) {
	t.Helper()
	var found []string
	var err error
	require.Eventually(t, func() bool {
		found, err = tryCheckUp(t, url, o)
		return err == nil && slices.Equal(found, want)
	}, waitMax, tick, "%v", want)

}
