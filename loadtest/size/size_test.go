package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/adminpage"
)

// TestSmallServiceIsMeasured fills a small service and makes each call of the page. Prizes
// have codes, except on a service that knows none.
func TestSmallServiceIsMeasured(t *testing.T) {
	t.Chdir("../..") // the service is built there
	s, err := parse([]string{"--only", "sqlite", "--pools", "3", "--prizes", "30", "--awards", "3000", "--codes", "40", "--idle", "1s"})
	require.NoError(t, err)
	require.Equal(t, 10, s.coded())
	var out strings.Builder
	require.NoError(t, run(t.Context(), s, &out), out.String())
	require.Contains(t, out.String(), "3 pools, one of 30 prizes, 10 of them with codes, and 3000 awards")
	rows := strings.Split(out.String(), "\n")
	for _, c := range adminpage.Calls(pool, s.awards, rules) {
		require.True(t, slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, "`"+c.Path+"`") }), "%s is not measured:\n%s", c.Path, out.String())
	}
	require.Contains(t, out.String(), "CPU of the service")

	s.old, s.service = true, filepath.Join(bin, "drawsvc") // the first run has built this file
	require.Zero(t, s.coded())
	out.Reset()
	require.NoError(t, run(t.Context(), s, &out), out.String())
	require.Contains(t, out.String(), "0 of them with codes")
	require.NotContains(t, out.String(), "/admin/")
}
