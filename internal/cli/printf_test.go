package cli

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/setting"
)

// TestTerminalIsSafe: names of pools and errors from a hostile service can neither move
// the cursor, set a title nor begin a line. The broken double is fmt.Fprintf.
func TestTerminalIsSafe(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b[2J\x1b]0;title\x07\nFAKE\tLINE\u009b\u2028\u202e\xff"
	pool := &api.Pool{ID: "p1", State: draw.State("open" + hostile), Name: "Spring Ü " + hostile, Prizes: []api.Prize{}}
	for about, print := range map[string]func(*bytes.Buffer) error{
		"list": func(b *bytes.Buffer) error {
			return printPools(b, outputTable, func(do func(*api.Pool) error) error { return do(pool) })
		},
		"show": func(b *bytes.Buffer) error { return printPool(b, outputTable, pool) },
	} {
		var out bytes.Buffer
		require.NoError(t, print(&out))
		for _, bad := range []string{"\x1b", "\x07", "\nFAKE", "\u009b", "\u2028", "\u202e", "\xff"} {
			require.NotContains(t, out.String(), bad, about)
		}
		require.Contains(t, out.String(), `Spring Ü \x1b[2J\x1b]0;title\a\nFAKE\tLINE\u009b\u2028\u202e\xff`, about)
	}
	for _, err := range []error{errors.New(hostile), &draw.Error{Code: draw.CodeInternal, Detail: hostile, Err: errors.New(hostile)}} {
		require.NotContains(t, setting.Message(err), "\x1b")
		require.NotContains(t, setting.Message(err), "\n")
	}
	var double bytes.Buffer
	fmt.Fprintf(&double, "%s", hostile)
	require.Contains(t, double.String(), "\x1b")
}
