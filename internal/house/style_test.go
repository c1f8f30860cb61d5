package house

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// turn is a turn of phrase that CONTRIBUTING's Style replaces: what to write in its
// place, the pattern that finds it, and how many places still have it.
type turn struct {
	instead string
	pattern *regexp.Regexp
	left    int
}

// slack is the amount by which a number of turns may be too high, so that small changes
// need not change the list.
const slack = 20

// turns returns the turns that become fewer. Places with the literal meaning (a place
// behind a proxy, a test alone on a machine) count too.
func turns() []turn {
	find := func(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + pattern) }
	return []turn{
		{instead: "only", pattern: find(`\balone\b`), left: 105},
		{instead: "again", pattern: find(`\banew\b`), left: 13},
		{instead: "after", pattern: find(`\bbehind\b`), left: 138},
		{instead: "reports whether (a boolean), or a verb that the actor does", pattern: regexp.MustCompile(`(?m)^\s*// \w+ says\b`), left: 5},
		{instead: "is not", pattern: find(`\b(?:is|are|was|were) (?:no|none)\b`), left: 287},
		{instead: "a sentence of its own", pattern: find(`\bof which\b`), left: 21},
		{instead: "per, in the form of", pattern: find(`\bas \w+ has it\b`), left: 1},
		{instead: "pauses, stalls", pattern: find(`\b(?:stands|stood) still\b`), left: 4},
		{instead: "fails, is killed (of mutants)", pattern: find(`\bcondemn\w*`), left: 58},
		{instead: "permanently", pattern: find(`\bfor good\b`), left: 6},
	}
}

// count returns the number of places of text that have the turn. A turn may continue on
// the next line.
func (t turn) count(name, text string) int {
	if strings.HasSuffix(name, ".md") {
		text = strings.Join(handWritten(text), "\n")
	}
	spaced := strings.ReplaceAll(t.pattern.String(), " ", `\s+`)
	if strings.Contains(spaced, "//") {
		return len(t.pattern.FindAllString(text, -1))
	}
	return len(regexp.MustCompile(spaced).FindAllString(margin.ReplaceAllString(text, "\n"), -1))
}

// TestTurnsBecomeFewer: new lines have none of the turns, and a change that rewrites an
// old one lowers the number. The changelog and lists of words are left out.
func TestTurnsBecomeFewer(t *testing.T) {
	found := map[string]int{}
	for _, name := range files(t, ".go", ".md", ".js", ".py", ".sql", "openapi.yaml") {
		if strings.HasPrefix(name, "internal/house/") || name == "CHANGELOG.md" || name == "CONTRIBUTING.md" {
			continue
		}
		text := read(t, name)
		for _, turn := range turns() {
			found[turn.instead] += turn.count(name, text)
		}
	}
	for _, turn := range turns() {
		switch n := found[turn.instead]; {
		case n > turn.left:
			t.Errorf("%s: %d places, and %d were left: write %q", turn.pattern, n, turn.left, turn.instead)
		case n < turn.left-slack:
			t.Errorf("%s: %d places, and %d were left: lower its number", turn.pattern, n, turn.left)
		}
	}
}

// TestTurnsAreFound: each turn is found in a comment, across a line end and in a page,
// but not in other words.
func TestTurnsAreFound(t *testing.T) {
	byWord := func(instead string) turn {
		for _, turn := range turns() {
			if turn.instead == instead {
				return turn
			}
		}
		t.Fatal("no turn ", instead)
		return turn{}
	}
	require.Equal(t, 2, byWord("only").count("x.go", "// Alone, and\n// read alone.\n// standalone\n"))
	require.Equal(t, 1, byWord("is not").count("x.go", "\t// it is\n\t// none of them\n"))
	require.Equal(t, 1, byWord("per, in the form of").count("x.md", "as RFC\n9112 has it\n\nas RFC has it"))
	require.Equal(t, 1, byWord("reports whether (a boolean), or a verb that the actor does").
		count("x.go", "// IsSettled says that.\nfunc x() {}\n// It is what x says\n"))
}

// subjectMax is the maximum number of characters in a commit's subject.
const subjectMax = 72

// styledSince is the commit after which subjects are checked.
const styledSince = "a7371d9388059794539c2cece9e56d98b2bbff43"

var subjectForm = regexp.MustCompile(`^[\w./*-]+(?:, [\w./*-]+)*: [a-z]\S*`)

// wrongSubject returns what is wrong with a commit's subject, "" if nothing is.
func wrongSubject(subject string) string {
	verb := strings.TrimRight(subjectForm.FindString(subject), ",.")
	_, verb, _ = strings.Cut(verb, ": ")
	switch {
	case verb == "":
		return "is not `area: imperative`"
	case len([]rune(subject)) > subjectMax:
		return fmt.Sprintf("has more than %d characters", subjectMax)
	case strings.HasSuffix(subject, "."):
		return "ends with a full stop"
	case strings.HasSuffix(verb, "ed") && !strings.HasSuffix(verb, "eed") && verb != "embed" && verb != "shed", strings.HasSuffix(verb, "ing") && verb != "bring":
		return fmt.Sprintf("begins with %q, not with an imperative", verb)
	}
	return ""
}

// TestCommitSubjects: `area: imperative`, at most 72 characters. Merges are left out. A
// clone without the history since then has nothing to check, and logs that.
func TestCommitSubjects(t *testing.T) {
	output, err := exec.CommandContext(t.Context(), "git", "-C", root, "log", "--no-merges", "--format=%h %s", styledSince+"..HEAD").Output()
	if err != nil {
		t.Logf("commit subjects are not checked: no history since %.7s here: %v", styledSince, err)
		return
	}
	for line := range strings.Lines(string(output)) {
		id, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		if wrong := wrongSubject(subject); wrong != "" {
			t.Errorf("commit %s: %q %s", id, subject, wrong)
		}
	}
}

// TestWrongSubjectsAreFound: wrong subjects are found, and right ones are not.
func TestWrongSubjectsAreFound(t *testing.T) {
	for subject, wrong := range map[string]bool{
		"loadtest/faults: classify late job runs as late, not lost": false,
		"group, drawsvc, http: mend what the linter found":          false,
		"stock: embed the zones":                                    false,
		"stock: bring the zones":                                    false,
		"mend what the linter found":                                true,
		"stock: Added a column":                                     true,
		"stock: added a column":                                     true,
		"stock: adding a column":                                    true,
		"stock: add a column.":                                      true,
		"stock: " + strings.Repeat("x", subjectMax):                 true,
	} {
		require.Equal(t, wrong, wrongSubject(subject) != "", subject)
	}
}
