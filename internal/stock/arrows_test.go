package stock

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// arrows returns, for each package of the store, the packages of the store that it may
// import. A package imports only packages below it.
func arrows() map[string][]string {
	dialects := []string{"engine", "rulebook", "sqltx"}
	return map[string][]string{
		"engine":     nil,
		"sqltx":      {"engine"},
		"rulebook":   {"engine"},
		"postgres":   dialects,
		"mysql":      dialects,
		"tidb":       append([]string{"mysql"}, dialects...),
		"sqlite":     append([]string{"sqlitefile"}, dialects...),
		"sqlitefile": nil,
		"schema":     {"engine"},
		"ledger":     {"engine"},
		"agenda":     {"engine", "ledger"},
		"audit":      {"engine", "ledger"},
		"codes":      {"engine", "ledger"},
		"hooks":      {"engine", "ledger"},
		"steps":      {"engine", "ledger"},
		"jobrows":    {"engine", "ledger"},
		"publiclog":  {"engine", "ledger"},
		"checkup":    {"", "engine"},
		"":           {"agenda", "audit", "codes", "engine", "hooks", "jobrows", "ledger", "mysql", "postgres", "publiclog", "schema", "sqlite", "sqlitefile", "steps", "tidb"},
	}
}

// TestArrows: the store's packages import each other exactly as arrows lists. Packages
// outside the store import only the store itself; serve and cli also import its check-up.
func TestArrows(t *testing.T) {
	const top = "drawsvc/internal/stock"
	list, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "drawsvc/...").Output()
	require.NoError(t, err)
	known := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		from, imports, _ := strings.Cut(strings.TrimSpace(line), " ")
		room, within := strings.CutPrefix(from, top)
		room = strings.TrimPrefix(room, "/")
		if room == "stocktest" {
			continue
		}
		known[room] = within
		for _, to := range strings.Fields(imports) {
			below, is := strings.CutPrefix(to, top)
			below = strings.TrimPrefix(below, "/")
			switch {
			case !is || below == "stocktest": // a rule of the linter allows this only in tests
			case within:
				require.Contains(t, arrows()[room], below, from)
			default:
				require.True(t, below == "" || below == "checkup" && (from == "drawsvc/internal/serve" || from == "drawsvc/internal/cli"), "%s imports %s", from, to)
			}
		}
	}
	for room := range arrows() {
		require.True(t, known[room], "there is no package %q", room)
	}
}
