package packaging

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/page"
)

// TestModulePath runs the commands of docs/install.md about the module's path, on a
// copy of the sources: the sources build under the new path, and nothing imports the
// old one.
func TestModulePath(t *testing.T) {
	t.Parallel()
	blocks, err := page.Blocks(read(t, "docs/install.md"))
	require.NoError(t, err)
	folder := t.TempDir()
	for path := range strings.SplitSeq(strings.TrimSuffix(ok(t, nil, "git", "ls-files", "-z", "*.go", "*.mod", "*.sum", "*.sql", "*.yaml", "*.yml", "internal", "db", "docs/verify"), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue // removed in the work tree, and not committed yet
		}
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(folder, filepath.Dir(path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, path), text, 0o600))
	}
	ok(t, nil, "bash", "-euc", "cd "+folder+"\n"+blocks["module-path"])
	built := filepath.Join(folder, "drawsvc")
	ok(t, []string{"GOFLAGS=-tags=nomsgpack"}, "go", "build", "-C", folder, "-buildvcs=false", "-o", built, "./cmd/drawsvc")
	require.Contains(t, ok(t, nil, "go", "version", "-m", built), "path\texample.org/owner/drawsvc/cmd/drawsvc\n")
	require.NotContains(t, ok(t, nil, "go", "list", "-C", folder, "-deps", "./..."), "\ndrawsvc/")
	ok(t, nil, "go", "list", "-C", filepath.Join(folder, "tools/package"), "-test", ".")
}
