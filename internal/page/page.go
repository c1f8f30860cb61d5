package page

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// Filled returns content with the part between the lines <!-- section:begin --> and
// <!-- section:end --> replaced by text. It fails if one of them is missing.
func Filled(content, section, text string) (string, error) {
	begin, end := "<!-- "+section+":begin -->\n", "<!-- "+section+":end -->"
	before, rest, found := strings.Cut(content, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("it has no lines %q and %q", strings.TrimSpace(begin), end)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return before + begin + text + end + after, nil
}

// Fill replaces a section of a file, as Filled does. If it fails, the file is
// unchanged.
func Fill(file, section, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	filled, err := Filled(string(old), section, text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(filled), 0o644)
}

// WriteJSON writes content to a file as indented JSON that ends with a line feed.
func WriteJSON(file string, content any) error {
	text, err := json.MarshalIndent(content, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
