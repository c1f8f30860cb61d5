package house

import (
	"regexp"
	"strings"
)

// prose is what people wrote on a page, line by line: blocks of code, tables,
// pictures and generated parts are empty lines in it.
type prose []string

var (
	codeFence = regexp.MustCompile("^ *(```+)")
	generated = regexp.MustCompile(`^<!-- ([a-z-]+):(begin|end) -->$`)
	comment   = regexp.MustCompile(`^ *<!--.*-->$`)
)

func proseOf(page string) prose {
	lines := strings.Split(page, "\n")
	fence, filled := "", false
	for i, line := range lines {
		begun := codeFence.FindStringSubmatch(line)
		mark := generated.FindStringSubmatch(line)
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if begun != nil && begun[1] == fence && trimmed == fence {
				fence = ""
			}
			lines[i] = ""
		case begun != nil:
			fence, lines[i] = begun[1], ""
		case mark != nil:
			filled, lines[i] = mark[2] == "begin", ""
		case filled, comment.MatchString(line), strings.HasPrefix(trimmed, "|"), strings.HasPrefix(trimmed, "!["):
			lines[i] = ""
		}
	}
	return lines
}

// link is a link or a picture in Markdown: its text and its address.
var link = regexp.MustCompile(`!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]*)\)`)
