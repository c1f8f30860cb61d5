package house

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// readsZonesOfMachine reports whether a Go file reads time zones by other means than
// draw.ParseZone: Go's own function reads the files of the machine first.
func readsZonesOfMachine(source string) bool {
	return regexp.MustCompile(`\btime\.LoadLocation\b|"time/tzdata"`).MatchString(source)
}

// TestZonesHaveOneSource: windows of limits, days of jobs, simulations and
// verifications begin at the same instant on every machine.
func TestZonesHaveOneSource(t *testing.T) {
	own := map[string]string{
		"internal/draw/zone_test.go":                "its broken double reads the files of the machine",
		"loadtest/faults/history/campaign.go":       "the judgement shares no code with what it judges",
		"loadtest/faults/history/campaign_test.go":  "the same",
		"loadtest/faults/history/campaign_rules.go": "the same",
	}
	for _, path := range files(t, ".go") {
		if own[path] == "" && !strings.HasSuffix(path, "house/zones_test.go") {
			require.False(t, readsZonesOfMachine(read(t, path)), path)
		}
	}
	for _, bad := range []string{`zone, err := time.LoadLocation(name)`, `load := time.LoadLocation` + "\n", `import _ "time/tzdata"`} {
		require.True(t, readsZonesOfMachine(bad), bad)
	}
	require.False(t, readsZonesOfMachine(`time.LoadLocationFromTZData(name, data)`))
}
