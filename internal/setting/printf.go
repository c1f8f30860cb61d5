package setting

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// Printf is fmt.Fprintf for what people read: texts among args, which may come from a
// service or a database that somebody else writes, cannot move the cursor, set a title or
// begin a line. Only the format has line ends.
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

// escapeControls writes control characters, and bytes that are no UTF-8, as Go does in a
// quoted text: ESC is \x1b.
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

// isUnsafe reports whether a terminal does something else with a character than show it.
func isUnsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Bidi_Control, r)
}
