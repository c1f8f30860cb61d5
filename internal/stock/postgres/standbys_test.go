package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRequiredStandbys(t *testing.T) {
	t.Parallel()
	for names, want := range map[string]int{
		"": 0, "a": 1, "*": 1, "a, b": 1, `"2 (x)"`: 1, "FIRST 2 (a, b, c)": 2, "any 1 (a,b)": 1, "ANY 12(a)": 12, "3 (a, b, c)": 3, " 2(a)": 2,
	} {
		require.Equal(t, want, requiredStandbys(names), names)
	}
}
