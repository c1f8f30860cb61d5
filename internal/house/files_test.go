package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the top of the repository, seen from this package.
const root = "../.."

// files are the paths of the repository's files with one of the suffixes, from
// its top. What a build or a run leaves behind is none of them.
func files(t *testing.T, suffixes ...string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "bin", "node_modules"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		path, err = filepath.Rel(root, path)
		if slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(path, suffix) }) {
			found = append(found, filepath.ToSlash(path))
		}
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

// read returns a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(text)
}

// pages are the pages of the documentation.
func pages(t *testing.T) (found []string) {
	t.Helper()
	for _, path := range files(t, ".md") {
		if path == "README.md" || path == "CONTRIBUTING.md" || path == "CHANGELOG.md" || strings.HasPrefix(path, "docs/") {
			found = append(found, path)
		}
	}
	return found
}
