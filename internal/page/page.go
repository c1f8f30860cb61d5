package page

import (
	"fmt"
	"os"
	"strings"
)

// Fill replaces what stands in a file between the lines <!-- section:begin -->
// and <!-- section:end --> by text. It fails, and changes nothing, when the
// file does not have both.
func Fill(file, section, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+section+":begin -->\n", "<!-- "+section+":end -->"
	before, rest, found := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no lines %q and %q", file, strings.TrimSpace(begin), end)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return os.WriteFile(file, []byte(before+begin+text+end+after), 0o644)
}
