package cli

import (
	_ "embed"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	pages "drawsvc/internal/page"
)

// readBlocks returns the named blocks of a page.
func readBlocks(tb testing.TB, file string) map[string]string {
	tb.Helper()
	text, err := os.ReadFile(file)
	require.NoError(tb, err)
	blocks, err := pages.Blocks(string(text))
	require.NoError(tb, err)
	return blocks
}

//go:embed testdata/backup.sh
var backupPrelude string

// systemctl is a request of a block: /ACTION/SERVICE.
type systemctl struct {
	path string
	done chan<- error
}
