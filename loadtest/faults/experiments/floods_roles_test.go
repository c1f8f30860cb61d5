package experiments

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestChartMemory: the limit is read from the shipped chart.
func TestChartMemory(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../" + chartValues)
	require.NoError(t, err)
	limit, err := parseChartMemory(text)
	require.NoError(t, err)
	require.Positive(t, limit)
	_, err = parseChartMemory([]byte("resources: {limits: {memory: 1G}}"))
	require.ErrorContains(t, err, `"1G" is not in Mi`)
}
