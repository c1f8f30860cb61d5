package http

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/http/contract"
	"drawsvc/internal/http/problem"
)

var (
	// callOnPage matches a call on the page.
	callOnPage = regexp.MustCompile("`(GET|POST|PATCH|DELETE|PUT) (/[^ `]*)`")
	codeRow    = regexp.MustCompile(`(?m)^\| (\d{3}(?:, \d{3})*) \| ([^|]*) \|`)
	inTicks    = regexp.MustCompile("`([^`]+)`")
)

// comparePage compares the calls and the problems on a page with the description and
// the table.
func comparePage(page string, c *contract.Contract) error {
	listed, described := map[string]bool{}, []string{}
	var wrong error
	for _, found := range callOnPage.FindAllStringSubmatch(page, -1) {
		path, query, _ := strings.Cut(found[2], "?")
		name := found[1] + " " + path
		listed[name] = true
		o, _ := c.Find(found[1], path)
		if o == nil || query == "" {
			continue
		}
		for parameter := range strings.SplitSeq(query, "&") {
			if parameter, _, _ = strings.Cut(parameter, "="); o.Params("query")[parameter] == nil {
				wrong = errors.Join(wrong, fmt.Errorf("%s takes no %s", name, parameter))
			}
		}
	}
	for _, o := range c.Operations {
		described = append(described, o.String())
	}
	var onPage, inTable []string
	_, table, _ := strings.Cut(page, "\n## Problems\n")
	for _, row := range codeRow.FindAllStringSubmatch(table, -1) {
		for _, code := range inTicks.FindAllStringSubmatch(row[2], -1) {
			status := strings.Fields(strings.ReplaceAll(row[1], ",", " "))
			onPage = append(onPage, code[1])
			for known, p := range problem.Table() {
				if string(known) == code[1] && !slices.Contains(status, strconv.Itoa(p.Status)) {
					wrong = errors.Join(wrong, fmt.Errorf("%s is in the row of %s", code[1], row[1]))
				}
			}
		}
	}
	for code := range problem.Table() {
		inTable = append(inTable, string(code))
	}
	return errors.Join(wrong, differ("docs/http.md: calls", slices.Collect(maps.Keys(listed)), described),
		differ("docs/http.md: codes", onPage, inTable))
}

func httpPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/http.md")
	require.NoError(t, err)
	return string(page)
}

// TestPageIsWhole: docs/http.md lists exactly the existing calls and problems.
func TestPageIsWhole(t *testing.T) {
	t.Parallel()
	c, err := ownContract()
	require.NoError(t, err)
	require.NoError(t, comparePage(httpPage(t), c))
}

// TestPageIsWholeCatches: a page that is wrong in one place is rejected.
func TestPageIsWholeCatches(t *testing.T) {
	t.Parallel()
	c, err := ownContract()
	require.NoError(t, err)
	for name, d := range map[string]struct{ old, with, want string }{
		"a call is missing":        {"`GET /admin/pools/{pool}/audit`", "the audit", "GET /admin/pools/{pool}/audit"},
		"a call that is none":      {"`GET /livez`", "`GET /livez`, `GET /lively`", "GET /lively"},
		"a parameter that is none": {"?dry_run=true&", "?frob=1&", "takes no frob"},
		"a code is missing":        {"`sold-out` |", "|", "sold-out"},
		"a code that is none":      {"`sold-out` |", "`sold-out`, `sold-in` |", "sold-in"},
		"a code in another row":    {"| 409 | `sold-out`", "| 404 | `sold-out`", "sold-out is in the row of 404"},
	} {
		page := httpPage(t)
		require.Contains(t, page, d.old, name)
		require.ErrorContains(t, comparePage(strings.ReplaceAll(page, d.old, d.with), c), d.want, name)
	}
}
