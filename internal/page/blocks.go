package page

import (
	"fmt"
	"regexp"
	"strings"
)

// blockMark and blockEnd surround a named block of shell commands.
var (
	blockMark = regexp.MustCompile("^( *)<!-- ([a-z-]+) -->$")
	blockEnd  = regexp.MustCompile("^ *```$")
)

// Blocks returns the shell commands of a page by the name in the comment above each
// block: <!-- name -->. It fails if a name occurs twice, or if no block follows a name.
func Blocks(content string) (map[string]string, error) {
	blocks := map[string]string{}
	name, indent, inside := "", "", false
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, "\n")
		switch found := blockMark.FindStringSubmatch(line); {
		case found != nil:
			indent, name = found[1], found[2]
			if _, twice := blocks[name]; twice || inside {
				return nil, fmt.Errorf("the name %s stands twice, or inside a block", name)
			}
			blocks[name] = ""
		case name != "" && !inside:
			if !strings.Contains(line, "```sh") {
				return nil, fmt.Errorf("%s is not followed by its block", name)
			}
			inside = true
		case inside && blockEnd.MatchString(line):
			name, inside = "", false
		case inside:
			blocks[name] += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	if name != "" {
		return nil, fmt.Errorf("the block %s has no end", name)
	}
	return blocks, nil
}
