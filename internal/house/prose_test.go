package house

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const (
	// sentenceMax is the maximum number of words in a sentence.
	sentenceMax = 25
	// lineMax is the maximum number of characters in a line, without the addresses of
	// links.
	lineMax = 120
	// readmeMax is the maximum number of lines of the README.
	readmeMax = 120
)

var (
	// item begins a separate paragraph: a list's item or a heading.
	item = regexp.MustCompile(`^ *(?:[-*] |\d+\. |#+ )`)
	code = regexp.MustCompile("`[^`]*`")
	// sentenceEnd matches a full stop, a question mark or an exclamation mark before a
	// space, and the closing marks and brackets between them.
	sentenceEnd = regexp.MustCompile(`[.!?][)*_"'”]*(?:\s+|$)`)
	word        = regexp.MustCompile(`\p{L}|\p{N}`)
)

// paragraphs joins the lines of prose, and returns each with its first line's number.
func (p prose) paragraphs() (texts []string, lines []int) {
	for i, line := range p {
		begins := i == 0 || strings.TrimSpace(p[i-1]) == "" || item.MatchString(line)
		switch {
		case strings.TrimSpace(line) == "":
		case begins:
			texts, lines = append(texts, item.ReplaceAllString(line, "")), append(lines, i+1)
		default:
			texts[len(texts)-1] += " " + strings.TrimSpace(line)
		}
	}
	return texts, lines
}

// faults returns the long sentences and lines of a page. A piece of code is one word, a
// link counts as its text.
func (p prose) faults(name string) (found []string) {
	for i, line := range p {
		if n := utf8.RuneCountInString(link.ReplaceAllString(line, "[$1]")); n > lineMax {
			found = append(found, fmt.Sprintf("%s:%d: %d characters", name, i+1, n))
		}
	}
	texts, lines := p.paragraphs()
	for i, text := range texts {
		text = code.ReplaceAllString(link.ReplaceAllString(text, "$1"), "code")
		for _, sentence := range sentenceEnd.Split(text, -1) {
			words := 0
			for _, w := range strings.Fields(sentence) {
				if word.MatchString(w) {
					words++
				}
			}
			if words > sentenceMax {
				found = append(found, fmt.Sprintf("%s:%d: %d words: %s", name, lines[i], words, sentence))
			}
		}
	}
	return found
}

// TestProseIsShort: sentences and lines of the documentation are not too long. Tables,
// blocks of code, pictures, addresses of links and generated parts are left out.
func TestProseIsShort(t *testing.T) {
	for _, name := range pages(t) {
		for _, fault := range proseOf(read(t, name)).faults(name) {
			t.Error(fault)
		}
	}
	require.LessOrEqual(t, strings.Count(read(t, "README.md"), "\n"), readmeMax, "lines of the README")
}

// TestProseIsShortCatches: long sentences are found, also across two lines and in a
// list's item, and so are long lines. The parts that are left out cause no finding.
func TestProseIsShortCatches(t *testing.T) {
	long := strings.Repeat("w ", sentenceMax)
	wide := strings.Repeat("x", lineMax+1)
	for page, want := range map[string][]string{
		long + "end.": {"p:1: 26 words: " + long + "end"},
		"# Title\n\n- a\n- " + long + "\n  end. Next.\n": {"p:4: 26 words: " + long + " end"},
		wide: {"p:1: 121 characters"},
		long + ". " + long + "`" + strings.Repeat("w ", sentenceMax) + "`. " + long: {"p:1: 206 characters", "p:1: 26 words: " + long + "code"},

		"```text\n" + wide + long + long + "\n```\n| " + long + long + wide + " |\n":         nil,
		"<!-- x:begin -->\n" + long + long + wide + "\n<!-- x:end -->\n![a](" + wide + ")\n": nil,
		"[text](" + wide + ")\n": nil,
		"- " + long + "\n- " + long + "\n\n" + long + "\n\n" + long + "`w. w`\n": {"p:6: 26 words: " + long + "code"},
	} {
		require.Equal(t, want, proseOf(page).faults("p"), page)
	}
}
