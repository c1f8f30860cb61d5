package ui

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// auditRules are the files whose constants name the rules of an audit.
var auditRules = []string{
	"../draw/fold/fold.go", "../stock/audit/agenda.go", "../stock/audit/budget.go", "../stock/audit/moments.go", "../stock/audit/rows.go",
	"../stock/codes/audit.go", "../stock/steps/audit.go",
}

// untold returns the differences between the rules of sources and the texts of the page.
func untold(sources []string, texts map[string]textForms) (found []string) {
	rules := map[string]bool{}
	for _, source := range sources {
		for _, m := range regexp.MustCompile(`\b[rR]ule[A-Z]\w* += "([a-z-]+)"`).FindAllStringSubmatch(source, -1) {
			rules[m[1]] = true
			if texts["violations.rule-"+m[1]] == nil {
				found = append(found, "no sentence: "+m[1])
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if rule, isOf := strings.CutPrefix(name, "violations.rule-"); isOf && !rules[rule] {
			found = append(found, "no such rule: "+rule)
		}
	}
	return found
}

// TestRulesOfAnAuditHaveSentences: each rule of an audit has a sentence, and each sentence
// a rule. Other languages have the names of English.
func TestRulesOfAnAuditHaveSentences(t *testing.T) {
	t.Parallel()
	var sources []string
	for _, file := range auditRules {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		sources = append(sources, string(source))
	}
	texts, _ := readTexts(all(t)["text.en.js"])
	require.Empty(t, untold(sources, texts))
	require.Equal(t, []string{"no sentence: luck-stray"}, untold(append(sources, `	ruleLuckStray = "luck-stray" // new`), texts))
	require.Equal(t, []string{"no such rule: over-issued"}, untold([]string{strings.Replace(strings.Join(sources, "\n"), `= "over-issued"`, "= x", 1)}, texts))
}
