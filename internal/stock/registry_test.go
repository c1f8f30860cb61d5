package stock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryDatabaseStatesItsLocksAndDoctor: a further database needs its own.
func TestEveryDatabaseStatesItsLocksAndDoctor(t *testing.T) {
	for scheme, dialect := range dialects() {
		require.NotNil(t, dialect.Locks.Table, scheme)
		require.NotNil(t, dialect.Doctor.Vitals, scheme)
		require.NotEmpty(t, dialect.Doctor.Rules(), scheme)
	}
}
