package ui

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// literal is a string or a template of a script. before is the code before it, in which
// other literals are "". In the text of a template, each computed part is a zero byte.
type literal struct{ text, before string }

// regexpStart matches code after which a slash begins a regular expression.
var regexpStart = regexp.MustCompile(`(?:^|[(,=:\[!&|?{};+>]|\breturn)\s*$`)

// literals returns the literals of a script.
func literals(script string) []literal {
	l := lexer{rest: script}
	l.code(false)
	return l.found
}

type lexer struct {
	rest  string
	seen  strings.Builder // the code, without comments
	found []literal
}

// skip removes what a pattern matches at the beginning of the rest, and returns it.
func (l *lexer) skip(pattern *regexp.Regexp) string {
	text := pattern.FindString(l.rest)
	l.rest = l.rest[len(text):]
	return text
}

var (
	aComment = regexp.MustCompile(`^(?://[^\n]*|(?s:/\*.*?\*/))`)
	aString  = regexp.MustCompile(`^(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')`)
	aRegexp  = regexp.MustCompile(`^/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/`)
)

// codeEnd returns the end of the code so far.
func (l *lexer) codeEnd() string {
	seen := l.seen.String()
	return seen[max(0, len(seen)-80):]
}

// code reads code, until the brace that ends a part of a template.
func (l *lexer) code(isPart bool) {
	for depth := 0; l.rest != ""; {
		switch c := l.rest[0]; {
		case aComment.MatchString(l.rest):
			l.skip(aComment)
		case aString.MatchString(l.rest):
			before := l.codeEnd()
			text := l.skip(aString)
			l.found = append(l.found, literal{text[1 : len(text)-1], before})
			l.seen.WriteString(`""`)
		case c == '/' && regexpStart.MatchString(l.codeEnd()) && aRegexp.MatchString(l.rest):
			l.skip(aRegexp)
			l.seen.WriteString("0")
		case c == '`':
			l.rest = l.rest[1:]
			l.template()
		default:
			if c == '{' {
				depth++
			}
			if c == '}' {
				depth--
			}
			l.rest = l.rest[1:]
			if isPart && depth < 0 {
				return
			}
			l.seen.WriteByte(c)
		}
	}
}

// template reads a template, after its first mark.
func (l *lexer) template() {
	var text strings.Builder
	before := l.codeEnd()
	for l.rest != "" && l.rest[0] != '`' {
		switch {
		case strings.HasPrefix(l.rest, "${"):
			text.WriteByte(0)
			l.rest = l.rest[2:]
			l.seen.WriteString("(")
			l.code(true)
		case l.rest[0] == '\\' && len(l.rest) > 1:
			text.WriteString(l.rest[:2])
			l.rest = l.rest[2:]
		default:
			text.WriteByte(l.rest[0])
			l.rest = l.rest[1:]
		}
	}
	l.rest = strings.TrimPrefix(l.rest, "`")
	l.seen.WriteString(`""`)
	l.found = append(l.found, literal{text.String(), before})
}

// shownWord matches the code before literals that people read, even if they are a single
// lower-case word.
var shownWord = regexp.MustCompile(`(?:\b(?:button|pill|field|message|fact|bar|copied|table)\(|\bsay\(\w+, |\bh\("", \{[^{}]*\}, |\b(?:title|yes|no|says|placeholder|caption): )$`)

// hiddenPlace matches the code before literals that nobody reads.
var hiddenPlace = regexp.MustCompile(`(?:\b(?:class|rel|pattern|accept|autocomplete|code|type|key): |(?:querySelector(?:All)?|closest|matches|matchMedia|classList\.\w+|new Event|\.get|\.has|\bname [!=]==) ?\(?|\b(?:from|import) |class: [^,]*)$`)

// protocol matches literals of HTTP and of browsers, and names that are the same in each
// language.
var protocol = regexp.MustCompile(`^(?:Content-Type|Accept|Idempoten\w+-\w+|drawsvc|drawsvc verify(?: \x00/\\npython3 verify\.py \x00/)?|drawsvc token new(?: --name shop --role draw)?|If-Match|Bearer \x00|ETag|AbortError|Error|Ed25519|Space|Enter|Escape|Home|End|Page\w+|Arrow\w+)$`)

// visibleLiterals returns the literals of a script that people read. These are several
// words, a word that begins with a capital, or any word in a place of shownWord. A list
// of classes, those of the style sheet, does not count.
func visibleLiterals(script string, classes map[string]bool) (found []string) {
	severalWords := regexp.MustCompile(`\pL{2}[,.;:!?%]?[ \x{a0}]\pL|\x00 \pL{2}|\pL{2} \x00`)
	capital := regexp.MustCompile(`^\p{Lu}\p{Ll}`)
	for _, l := range literals(script) {
		isClasses := !slices.ContainsFunc(strings.Fields(strings.ReplaceAll(l.text, "\x00", " ")), func(word string) bool { return !classes[word] })
		switch {
		case hiddenPlace.MatchString(l.before), protocol.MatchString(l.text):
		case shownWord.MatchString(l.before) && regexp.MustCompile(`\pL{2}`).MatchString(l.text),
			!isClasses && (severalWords.MatchString(l.text) || capital.MatchString(l.text)):
			found = append(found, strings.ReplaceAll(l.text, "\x00", "…"))
		}
	}
	return found
}

// styleClasses returns the classes of the style sheet.
func styleClasses(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{"changes": true} // marks elements that a closed campaign does not have
	for _, m := range regexp.MustCompile(`\.([a-z][\w-]*)`).FindAllStringSubmatch(all(t)["style.css"], -1) {
		found[m[1]] = true
	}
	return found
}

// TestTextsStandInTheirFiles: no script contains words for people, except commands.js.
func TestTextsStandInTheirFiles(t *testing.T) {
	t.Parallel()
	classes := styleClasses(t)
	for _, name := range slices.Sorted(maps.Keys(scripts(t))) {
		if name == "commands.js" {
			continue // it contains lines for a shell
		}
		found := visibleLiterals(scripts(t)[name], classes)
		require.Empty(t, found, "%s: move these into the files of texts", name)
	}
}

// TestTextsStandInTheirFilesCatches: texts are found in all places, and nothing else is.
func TestTextsStandInTheirFilesCatches(t *testing.T) {
	t.Parallel()
	classes := map[string]bool{"row": true, "money": true, "open": true}
	for script, want := range map[string]string{
		`h("p", {}, "No pool")`: "No pool", "say(note, `${n} found.`)": "… found.", `button("Close", act)`: "Close", `pill("archived")`: "archived",
		`h("b", { class: "row" }, "given")`: "given", `say(x, "sold")`: "sold", `ask({ title: "new" })`: "new", `x = is ? "nothing can be won" : ""`: "nothing can be won",
		`h("p", { "aria-label": "Views" })`: "Views", "t(`a${b ? `of ${c} units` : \"\"}`)": "of … units", `/["']/.test(x); f("two words")`: "two words", `pill("open")`: "open",
	} {
		require.Equal(t, []string{want}, visibleLiterals(script, classes), script)
	}
	for _, script := range []string{
		`h("p", { class: "row unknown" })`, `button(t("a.b"), act, "row money")`, `x.querySelector("dialog [role=alert]")`, `import { a } from "./dom.js";`, `// No pool`, `/* No pool */`,
		`t("pools.title")`, "part(`admin/pools/${id}`)", `headers.get("Content-Type")`, `x = y / 2; z = "a/b" / 3`, `h("a", { href: "#/" }, t("app.skip"))`,
	} {
		require.Empty(t, visibleLiterals(script, classes), script)
	}
}
