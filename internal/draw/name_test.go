package draw_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// checkJoiners returns an error unless a check of names allows joiners where languages
// need them, and refuses all other invisible characters.
func checkJoiners(check func(what, s string) error) error {
	for _, name := range []string{"می\u200cخواهم", "क्\u200dष", "👨\u200d👩\u200d👧 Familie", strings.Repeat("a\u200d", draw.NameMax/2-1) + "b"} {
		if err := check("name", name); err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	for _, name := range []string{
		"", "\u200d", "\u200dGold", "Gold\u200d", "Go\u200d\u200cld", "Go\u200bld", "Gold\u200e", "Go\u2060ld", "Go\ufeffld", "Go\u00adld", "Go\u202eld", "a\u200db\u200b",
		"Go\u200d\xff", strings.Repeat("a\u200d", draw.NameMax/2) + "b",
	} {
		if check("name", name) == nil {
			return fmt.Errorf("%q is allowed", name)
		}
	}
	return nil
}

// TestNamesMayHaveJoiners: one broken double refuses each zero-width joiner. Each of the
// others allows one of the two characters everywhere.
func TestNamesMayHaveJoiners(t *testing.T) {
	t.Parallel()
	require.NoError(t, checkJoiners(draw.CheckName))
	require.Error(t, checkJoiners(func(what, s string) error {
		return draw.CheckReason(s)
	}))
	require.Error(t, checkJoiners(func(what, s string) error {
		return draw.CheckName(what, strings.ReplaceAll(strings.ReplaceAll(s, "\u200d", "x"), "\u200c", "x"))
	}))
	require.ErrorContains(t, draw.CheckUser("a\u200db"), "not printable")
}
