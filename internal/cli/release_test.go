package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// release is a line of the file RELEASES.
type release struct{ version, commit string }

var releaseLine = regexp.MustCompile(`^(\d+\.\d+\.\d+) ([0-9a-f]{40})$`)

// parseReleases reads the file RELEASES, the oldest release first.
func parseReleases(text string) (all []release, err error) {
	var last [3]int
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := releaseLine.FindStringSubmatch(line)
		if parts == nil {
			return nil, fmt.Errorf("%q is not VERSION COMMIT", line)
		}
		var version [3]int
		if _, err := fmt.Sscanf(parts[1], "%d.%d.%d", &version[0], &version[1], &version[2]); err != nil {
			return nil, err
		}
		if !above(version, last) {
			return nil, fmt.Errorf("%s does not follow %v", parts[1], last)
		}
		last = version
		all = append(all, release{parts[1], parts[2]})
	}
	return all, nil
}

func above(x, y [3]int) bool {
	for i := range x {
		if x[i] != y[i] {
			return x[i] > y[i]
		}
	}
	return false
}

func TestParseReleases(t *testing.T) {
	t.Parallel()
	one, two := strings.Repeat("0123456789", 4), strings.Repeat("abcdef0123", 4)
	all, err := parseReleases("# text\n\n0.1.0 " + one + "\n0.10.0 " + two + "\n")
	require.NoError(t, err)
	require.Equal(t, []release{{"0.1.0", one}, {"0.10.0", two}}, all)
	for _, text := range []string{
		"0.1 " + one, "v0.1.0 " + one, "0.1.0 " + one[1:], "0.1.0  " + one, "0.1.0", "0.1.0 " + strings.ToUpper(two),
		"0.1.0 " + one + "\n0.1.0 " + two, "0.2.0 " + one + "\n0.1.9 " + two, "0.0.0 " + one,
	} {
		_, err := parseReleases(text)
		require.Error(t, err, text)
	}
	_, err = parseReleases(readReleases(t))
	require.NoError(t, err)
}

func readReleases(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile("../../RELEASES")
	require.NoError(tb, err)
	return string(text)
}

// errNoHistory: the commits of the repository are not on this machine.
var errNoHistory = errors.New("the repository's history is not here")

// git runs the command, ignoring a repository that the environment names.
func git(ctx context.Context, args ...string) (string, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %v: %w: %s", args, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), err
}

// find checks that the repository that contains folder has a commit. The error is
// errNoHistory if the clone has no history.
func find(ctx context.Context, folder, commit string) error {
	shallow, err := git(ctx, "-C", folder, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return fmt.Errorf("%w: %w", errNoHistory, err)
	}
	if _, err := git(ctx, "-C", folder, "cat-file", "-e", commit+"^{commit}"); err != nil {
		if shallow == "true" {
			return fmt.Errorf("%w: the clone is shallow, and lacks commit %s", errNoHistory, commit)
		}
		if commits, err := git(ctx, "-C", folder, "rev-list", "--count", "HEAD"); err == nil && commits == "1" {
			return fmt.Errorf("%w: one commit is all there is, and commit %s is not there", errNoHistory, commit)
		}
		return fmt.Errorf("the repository has no commit %s: %w", commit, err)
	}
	return nil
}

// unpack writes the files of a commit of the repository that contains folder.
func unpack(ctx context.Context, folder, commit, into string) error {
	if err := find(ctx, folder, commit); err != nil {
		return err
	}
	archive := filepath.Join(into, "archive.tar")
	if _, err := git(ctx, "-C", folder, "archive", "--format=tar", "--output="+archive, commit); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "tar", "-xf", archive, "-C", into).CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %w: %s", err, out)
	}
	return nil
}

// build builds the program of a commit and returns its file.
func build(ctx context.Context, commit, into string) (string, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	if err := unpack(ctx, root, commit, into); err != nil {
		return "", err
	}
	file := filepath.Join(into, "drawsvc.built")
	cmd := buildAsTested(ctx, file, "./cmd/drawsvc")
	cmd.Dir = into
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build of %s: %w: %s", commit, err, out)
	}
	return file, nil
}

// built returns the program of a release. If the history is not on this machine, it skips
// the test. If only the commit is missing, the test fails.
func built(t *testing.T, r release) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	r.isHere(t)
	file, err := build(ctx, r.commit, t.TempDir())
	require.NoError(t, err)
	return file
}

// isHere skips the test with a message if the history is not on this machine.
func (r release) isHere(t *testing.T) {
	t.Helper()
	err := find(t.Context(), ".", r.commit)
	if errors.Is(err, errNoHistory) {
		servertest.Missing(t, fmt.Sprintf("release %s cannot be built: %v", r.version, err))
	}
	require.NoError(t, err)
}

// knows returns the version of the release's schema: the number of its migrations.
func (r release) knows(t *testing.T) int64 {
	t.Helper()
	r.isHere(t)
	files, err := git(t.Context(), "-C", "../..", "ls-tree", "--name-only", r.commit, "db/migrations/postgres/")
	require.NoError(t, err)
	return int64(len(strings.Fields(files)))
}

// TestCloneWithoutHistoryIsRecognized: a clone without history is distinguished from a
// missing commit.
func TestCloneWithoutHistoryIsRecognized(t *testing.T) {
	t.Parallel()
	run := func(args ...string) string {
		out, err := git(t.Context(), append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		require.NoError(t, err)
		return out
	}
	if _, err := exec.LookPath("git"); err != nil {
		servertest.Missing(t, "there is no git")
	}
	whole, clone := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	run("init", "-q", whole)
	var commits []string
	for _, text := range []string{"first", "second"} {
		require.NoError(t, os.WriteFile(filepath.Join(whole, "file"), []byte(text), 0o600))
		run("-C", whole, "add", "file")
		run("-C", whole, "commit", "-q", "-m", text)
		commits = append(commits, run("-C", whole, "rev-parse", "HEAD"))
	}
	run("clone", "-q", "--depth", "1", "file://"+whole, clone)

	into := t.TempDir()
	require.NoError(t, unpack(t.Context(), whole, commits[0], into))
	text, err := os.ReadFile(filepath.Join(into, "file"))
	require.NoError(t, err)
	require.Equal(t, "first", string(text))
	require.NoError(t, unpack(t.Context(), clone, commits[1], t.TempDir()))
	require.ErrorIs(t, unpack(t.Context(), clone, commits[0], t.TempDir()), errNoHistory)
	require.ErrorIs(t, unpack(t.Context(), t.TempDir(), commits[0], t.TempDir()), errNoHistory)
	alone := t.TempDir() // a tree without its history
	run("init", "-q", alone)
	run("-C", alone, "commit", "-q", "--allow-empty", "-m", "all")
	require.ErrorIs(t, unpack(t.Context(), alone, commits[0], t.TempDir()), errNoHistory)
	err = unpack(t.Context(), whole, strings.Repeat("0", 40), t.TempDir())
	require.ErrorContains(t, err, "the repository has no commit 0000")
	require.NotErrorIs(t, err, errNoHistory)
}
