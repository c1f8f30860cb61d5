package http

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/http/contract"
)

// sharedNames returns the names that two kinds of components have.
func sharedNames(c *contract.Contract) (shared []string) {
	of := c.Doc.Components
	seen := map[string]bool{}
	for _, names := range [][]string{
		slices.Collect(maps.Keys(of.Schemas)), slices.Collect(maps.Keys(of.Parameters)), slices.Collect(maps.Keys(of.Responses)), slices.Collect(maps.Keys(of.Headers)),
	} {
		for _, name := range names {
			if seen[name] {
				shared = append(shared, name)
			}
			seen[name] = true
		}
	}
	return shared
}

// TestNamesOfComponentsDiffer: component names are unique across all kinds, because
// client generators make a type of each, and some refuse a description in which two
// components have the same name.
func TestNamesOfComponentsDiffer(t *testing.T) {
	t.Parallel()
	c, err := ownContract()
	require.NoError(t, err)
	require.Empty(t, sharedNames(c))
	double, err := contract.Read([]byte(strings.ReplaceAll(string(description), "JobInPath", "Job")))
	require.NoError(t, err)
	require.Equal(t, []string{"Job"}, sharedNames(double))
}
