package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// verifiableCommands returns the commands about verifiable draws that a demo prints.
func verifiableCommands(printed string) (commands []string) {
	_, after, _ := strings.Cut(printed, "Verifiable draws:")
	for line := range strings.Lines(after) {
		if command, is := strings.CutPrefix(line, "  "); is {
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	return commands
}

// pasted runs a line in a shell, unchanged, and returns its exit code and its output. The
// shell finds the program, because the test's binary can act as the program.
func pasted(t *testing.T, folder, line string) (code int, printed string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), beMain+"=yes")
	output, err := cmd.CombinedOutput()
	if exit, ended := errors.AsType[*exec.ExitError](err); ended {
		return exit.ExitCode(), string(output)
	}
	require.NoError(t, err, line)
	return 0, string(output)
}

// TestDemoVerifiable: the five lines that a demo prints, pasted into a shell, show a
// verifiable draw, and that the verifiers detect one changed byte. Each pool can be used
// once; all pools have the same identity.
func TestDemoVerifiable(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	folder := t.TempDir()
	p := on(t, "sqlite:"+filepath.Join(folder, "demo.db"))
	for _, pool := range []string{"demo-verifiable", "demo-verifiable-2"} {
		p.serve("--demo").end() // it leaves an open pool for the next demo
		s := p.serve("--demo")
		lines := verifiableCommands(s.stdout.String())
		require.Len(t, lines, 5)
		work := t.TempDir()
		for i, want := range []string{`"receipt":{"note":`, "pool " + pool + " is closed\n1 ", "", " hold: 1 award replayed from version 6 on", "the receipt holds\n"} {
			code, printed := pasted(t, work, lines[i])
			require.Equal(t, exitOK, code, "%s\n%s", lines[i], printed)
			require.Contains(t, printed, want, lines[i])
		}
		require.Equal(t, exitOK, s.end().code)
		python := "python3 '" + absolute(t, "../../docs/verify/verify.py") + "' demo-proof --receipts answer.json"
		code, printed := pasted(t, work, python)
		require.Equal(t, exitOK, code, printed)

		log := filepath.Join(work, "demo-proof", "log.jsonl")
		whole, err := os.ReadFile(log)
		require.NoError(t, err)
		for _, at := range []int{9, len(whole) / 2, bytes.LastIndex(whole, []byte(`"user":"`)) + 10} {
			flipped := bytes.Clone(whole)
			flipped[at] ^= 1
			require.NoError(t, os.WriteFile(log, flipped, 0o600))
			for _, line := range []string{lines[3], python} {
				code, printed := pasted(t, work, line)
				require.Equal(t, exitViolation, code, "byte %d: %s", at, printed)
			}
		}
	}
	info, err := os.Stat(filepath.Join(folder, "demo.db.seed-identity"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Contains(t, p.ok("audit", "--deep"), "4 pools, 0 violations")
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	return path
}

// TestDemoSealsByGivenKeys: a demo on a database server seals with the given files, and
// reports if there are no files. It does not draw from a pool whose identity is lost,
// and does not start with an unreadable identity.
func TestDemoSealsByGivenKeys(t *testing.T) {
	t.Parallel()
	recipients, identity := keyFiles(t)
	p := on(t, stocktest.URL(t, "postgres"))
	s := p.serve("--demo", "--migrate")
	require.Contains(t, s.stdout.String(), "Verifiable draws: name --seed-recipients and --seed-identity-file")
	s.admin(404, "GET", "/admin/pools/demo-verifiable", "")
	require.Equal(t, exitOK, s.end().code)
	s = p.serve("--demo", "--seed-recipients", recipients, "--seed-identity-file", identity, "--origin", "draws.example.org")
	require.Len(t, verifiableCommands(s.stdout.String()), 5)
	require.Contains(t, s.admin(200, "GET", "/pools/demo-verifiable/proof/commitment", ""), "origin draws.example.org/demo-verifiable\n")
	s.won("demo-verifiable", "u1", "")
	s.admin(201, "POST", "/admin/pools", `{"id":"other","name":"O","state":"paused","prizes":[{"id":"a","name":"A","stock":1}]}`)
	require.Contains(t, s.admin(400, "POST", "/admin/pools/other/commitment", `{"origin":"other.example"}`), "under draws.example.org, by its --origin, and not under other.example")
	require.Contains(t, s.admin(201, "POST", "/admin/pools/other/commitment", `{"origin":"draws.example.org"}`), "origin draws.example.org/other\n")

	folder := t.TempDir()
	p = on(t, "sqlite:"+filepath.Join(folder, "demo.db"))
	p.serve("--demo").end()
	require.NoError(t, os.Remove(filepath.Join(folder, "demo.db.seed-identity")))
	require.Contains(t, p.serve("--demo").end().stdout, "demo-verifiable-2", "nobody can draw from the first any more")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "demo.db.seed-identity"), []byte("nonsense\n"), 0o600))
	p.refused(exitFailure, "demo.db.seed-identity: the text holds no age identities", "serve", "--demo", "--listen", "127.0.0.1:0")
}

// TestDemoLeavesWhatGitIgnores: the README's first command leaves nothing in a clone
// that could be committed, least of all a secret. The control is a source file, which
// git does not ignore.
func TestDemoLeavesWhatGitIgnores(t *testing.T) {
	t.Parallel()
	servertest.NeedPrograms(t, "git", "git")
	if _, err := os.Stat("../../.git"); err != nil {
		servertest.Missing(t, "the tests run outside a clone: what git ignores is not known")
	}
	isIgnored := func(name string) bool {
		return exec.CommandContext(t.Context(), "git", "-C", "../..", "check-ignore", "--no-index", "--quiet", name).Run() == nil
	}
	folder := t.TempDir()
	s := on(t, "sqlite:"+filepath.Join(folder, "drawsvc.db")).serve("--demo")
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Greater(t, len(left), 3)
	for _, file := range left {
		require.True(t, isIgnored(file.Name()), file.Name())
	}
	require.False(t, isIgnored("main.go"))
	require.Equal(t, exitOK, s.end().code)
}
