package stock

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryDatabaseStatesItsLocksAndDoctor: a further database needs its own.
func TestEveryDatabaseStatesItsLocksAndDoctor(t *testing.T) {
	all := slices.Collect(maps.Values(dialects()))
	for of, some := range variants() {
		require.Contains(t, dialects(), of)
		for _, d := range some {
			require.NotEmpty(t, d.VersionPart, d.Name)
			all = append(all, d)
		}
	}
	for _, d := range all {
		require.NotNil(t, d.Locks.Table, d.Name)
		require.Equal(t, d.Name, d.Locks.Database)
		require.NotNil(t, d.Doctor.Vitals, d.Name)
		require.NotEmpty(t, d.Doctor.Rules(), d.Name)
	}
}
