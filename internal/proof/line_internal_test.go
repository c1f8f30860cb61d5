package proof

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTextIsEscapedAsTheFormatSays: only the quote, the backslash and characters below
// the space are escaped, by the short form of RFC 8785 if there is one. Verifiers compare
// bytes, so another escape would result in another log.
func TestTextIsEscapedAsTheFormatSays(t *testing.T) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	for r := range rune(0x3000) {
		want := string(r)
		if s, has := short[r]; has {
			want = s
		} else if r < ' ' {
			want = fmt.Sprintf(`\u%04x`, r)
		}
		w := writer{b: []byte("{")}
		w.text("t", string(r))
		require.Equal(t, `{"t":"`+want+`"`, string(w.b))
	}
}
