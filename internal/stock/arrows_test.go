package stock

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// arrows are the packages of the store, each with those of the store that it
// may import: none runs back up.
func arrows() map[string][]string {
	dialects := []string{"engine", "sqltx"}
	return map[string][]string{
		"engine":     nil,
		"sqltx":      {"engine"},
		"postgres":   dialects,
		"mysql":      dialects,
		"sqlite":     append([]string{"sqlitefile"}, dialects...),
		"sqlitefile": nil,
		"":           {"engine", "mysql", "postgres", "sqlite", "sqlitefile"},
	}
}

// TestArrows: the imports among the packages of the store are those above, and
// of the packages below it none is imported from outside.
func TestArrows(t *testing.T) {
	const top = "drawsvc/internal/stock"
	list, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "drawsvc/...").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		from, within := strings.CutPrefix(fields[0], top)
		allowed, known := arrows()[strings.TrimPrefix(from, "/")]
		for _, to := range fields[1:] {
			below, ok := strings.CutPrefix(to, top+"/")
			switch {
			case !ok || strings.HasSuffix(from, "/stocktest") || below == "stocktest":
			case within && known:
				require.Contains(t, allowed, below, fields[0])
			default:
				require.Failf(t, "an arrow from outside", "%s → %s", fields[0], to)
			}
		}
		require.False(t, known && slices.Contains(fields[1:], top), "%s runs back up", fields[0])
	}
}
