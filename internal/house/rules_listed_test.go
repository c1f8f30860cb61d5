package house

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// auditRule matches the declaration of a rule of an audit.
var auditRule = regexp.MustCompile(`(?m)^\s*rule\w+\s*= "([a-z-]+)"`)

// unlisted returns the rules that a page of audits does not name.
func unlisted(rules []string, page string) (missing []string) {
	for _, rule := range rules {
		if !strings.Contains(page, "`"+rule+"`") {
			missing = append(missing, rule)
		}
	}
	return missing
}

// TestAuditRulesAreListed: docs/monitoring.md names each rule that an audit may break. A page
// without one of them is caught.
func TestAuditRulesAreListed(t *testing.T) {
	t.Parallel()
	var rules []string
	require.NoError(t, filepath.WalkDir(filepath.Join(root, "internal/stock"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range auditRule.FindAllStringSubmatch(string(text), -1) {
			rules = append(rules, found[1])
		}
		return err
	}))
	require.Greater(t, len(rules), 20)
	page := read(t, "docs/monitoring.md")
	require.Empty(t, unlisted(rules, page))
	require.Equal(t, []string{rules[0]}, unlisted(rules, strings.ReplaceAll(page, "`"+rules[0]+"`", "")))
}
