package page_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/page"
)

func TestFill(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(file, []byte("a\n<!-- x:begin -->\nold\n<!-- x:end -->\nb\n<!-- y:begin -->\n<!-- z:end -->\n"), 0o600))
	for _, text := range []string{"new", "newer\n"} {
		require.NoError(t, page.Fill(file, "x", text))
	}
	filled, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "a\n<!-- x:begin -->\nnewer\n<!-- x:end -->\nb\n<!-- y:begin -->\n<!-- z:end -->\n", string(filled))

	require.ErrorContains(t, page.Fill(file, "y", "text"), "y:end", "a section that does not end")
	require.ErrorContains(t, page.Fill(file, "z", "text"), "z:begin")
	require.ErrorIs(t, page.Fill(file+"x", "x", "text"), os.ErrNotExist)
	same, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, filled, same, "what fails changes nothing")
}

// TestBlocks: named blocks are found, even indented ones. A malformed page is an error.
func TestBlocks(t *testing.T) {
	t.Parallel()
	found, err := page.Blocks("text\n\n<!-- one -->\n```sh\na\n  b\n```\n\n```sh\nno name\n```\n  <!-- two -->\n  ```sh not run\n  c\n  ```\n")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"one": "a\n  b\n", "two": "c\n"}, found)
	for _, bad := range []string{
		"<!-- one -->\n```sh\na\n", "<!-- one -->\ntext\n", "<!-- one -->\n",
		"<!-- one -->\n```sh\n```\n<!-- one -->\n```sh\n```\n", "<!-- one -->\n```sh\n<!-- two -->\n```\n",
	} {
		_, err := page.Blocks(bad)
		require.Error(t, err, bad)
	}
}
