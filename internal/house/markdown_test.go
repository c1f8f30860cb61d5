package house

import (
	"regexp"
	"strings"
)

// prose is the hand-written text of a page, line by line: blocks of code, tables,
// pictures and generated parts are replaced by empty lines.
type prose []string

var (
	codeFence = regexp.MustCompile("^ *(```+)")
	generated = regexp.MustCompile(`^<!-- ([a-z-]+):(begin|end) -->$`)
	comment   = regexp.MustCompile(`^ *<!--.*-->$`)
)

// handWritten returns the lines of a page. Lines that a program wrote are replaced by
// empty ones, because they must be corrected in the program, not on the page.
func handWritten(page string) []string {
	lines, filled := strings.Split(page, "\n"), false
	for i, line := range lines {
		if mark := generated.FindStringSubmatch(line); mark != nil {
			filled = mark[2] == "begin"
		}
		if filled {
			lines[i] = ""
		}
	}
	return lines
}

func proseOf(page string) prose {
	lines, fence := handWritten(page), ""
	for i, line := range lines {
		begun, trimmed := codeFence.FindStringSubmatch(line), strings.TrimSpace(line)
		switch {
		case fence != "":
			if trimmed == fence {
				fence = ""
			}
			lines[i] = ""
		case begun != nil:
			fence, lines[i] = begun[1], ""
		case comment.MatchString(line), strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "!["):
			lines[i] = ""
		}
	}
	return lines
}

// link is a link or a picture in Markdown: its text and its address.
var link = regexp.MustCompile(`!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]*)\)`)
