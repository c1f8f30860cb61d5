package house

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the top of the repository, relative to this package.
const root = "../.."

// files returns the paths of the repository's files with one of the suffixes, relative
// to its top, except for what a build or a run leaves behind.
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
	found = withoutIgnored(t, found)
	require.NotEmpty(t, found)
	return found
}

// withoutIgnored removes the files that git ignores: other targets of the Makefile
// write them. Without git or its folder nothing is ignored.
func withoutIgnored(t *testing.T, names []string) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		return names
	}
	cmd := exec.CommandContext(t.Context(), "git", "-C", root, "check-ignore", "--no-index", "--stdin")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n"))
	output, err := cmd.Output()
	if exit, isExit := errors.AsType[*exec.ExitError](err); isExit && exit.ExitCode() == 1 || errors.Is(err, exec.ErrNotFound) {
		return names // none of them is ignored
	}
	require.NoError(t, err)
	ignored := strings.Split(string(output), "\n")
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(ignored, name) })
}

// TestIgnoredFilesAreNotRead: a file that a run of the load tests has left is not a page.
func TestIgnoredFilesAreNotRead(t *testing.T) {
	require.Equal(t, []string{"README.md", "loadtest/results/matrix.md"},
		withoutIgnored(t, []string{"README.md", "loadtest/results/part/matrix.md", "loadtest/results/matrix.md", "bin/x.md"}))
	require.Equal(t, []string{"README.md"}, withoutIgnored(t, []string{"README.md"}))
}

// read returns a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(text)
}

// pages returns the pages of the documentation.
func pages(t *testing.T) (found []string) {
	t.Helper()
	for _, path := range files(t, ".md") {
		if path == "README.md" || path == "CONTRIBUTING.md" || path == "CHANGELOG.md" || strings.HasPrefix(path, "docs/") {
			found = append(found, path)
		}
	}
	return found
}
