package checkup

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
)

// TestEveryDatabaseHasRules: a further database needs its own.
func TestEveryDatabaseHasRules(t *testing.T) {
	require.Equal(t, stock.Dialects(), slices.Sorted(maps.Keys(doctors())))
	for name, doctor := range doctors() {
		require.NotEmpty(t, doctor.rules(), name)
	}
}
