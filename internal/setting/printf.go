package setting

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// Printf is fmt.Fprintf for text that people read. Texts among args may come from a
// service or a database that others can write to. Such texts cannot move the cursor, set
// a title or begin a line, because only the format's own line ends are printed.
func Printf(w io.Writer, format string, args ...any) (int, error) {
	safe := make([]any, len(args))
	for i, arg := range args {
		safe[i] = arg
		if v := reflect.ValueOf(arg); v.Kind() == reflect.String {
			safe[i] = escapeControls(v.String())
		}
	}
	return fmt.Fprintf(w, format, safe...)
}

// escapeControls escapes control characters, and bytes that are not UTF-8, as in Go's
// quoted strings: ESC is \x1b.
func escapeControls(text string) string {
	var out strings.Builder
	for i, r := range text {
		switch {
		case r == unicode.ReplacementChar && !strings.HasPrefix(text[i:], string(r)):
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case isUnsafe(r):
			quoted := strconv.QuoteRuneToASCII(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// isUnsafe reports whether a terminal may interpret a character instead of showing it.
func isUnsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Bidi_Control, r)
}
