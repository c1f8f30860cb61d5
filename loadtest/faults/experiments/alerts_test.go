package experiments

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryAlertHasAFault: each alert of the rules has one fault that fires it, and a
// row in the README; each fault names an alert that exists.
func TestEveryAlertHasAFault(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("../../..", rulesFile))
	require.NoError(t, err)
	var alerts []string
	for _, found := range ruleAlert.FindAllStringSubmatch(string(text), -1) {
		alerts = append(alerts, found[1])
	}
	require.NotEmpty(t, alerts)
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	var fired []string
	for _, f := range alertFaults() {
		var names []string
		for _, alert := range f.alerts {
			names = append(names, "`"+alert+"`")
		}
		fired = append(fired, f.alerts...)
		require.Contains(t, string(readme), fmt.Sprintf("| %s | %s |\n", f.name, strings.Join(names, ", ")))
	}
	require.ElementsMatch(t, alerts, fired)
}

// TestShortRules: times are shortened, and nothing else is changed.
func TestShortRules(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("../../..", rulesFile))
	require.NoError(t, err)
	short, err := shortRules(string(text))
	require.NoError(t, err)
	before, after := strings.Split(string(text), "\n"), strings.Split(short, "\n")
	require.Len(t, after, len(before))
	changed := 0
	for n := range before {
		if before[n] == after[n] {
			continue
		}
		changed++
		require.True(t, ruleWait.MatchString(before[n]) || ruleWindow.MatchString(before[n]) || isShortened(before[n]), before[n])
	}
	require.Greater(t, changed, 10)
	require.NotRegexp(t, `for: [2-9]|\[\d+[mh]\]`, short)

	_, err = shortRules(strings.Replace(string(text), "> 43200", "> 43201", 1))
	require.ErrorContains(t, err, "not once", "a bound that is not shortened would be waited for")
}

func isShortened(line string) bool {
	for _, bound := range shortened() {
		if strings.Contains(line, bound[0]) {
			return true
		}
	}
	return false
}
