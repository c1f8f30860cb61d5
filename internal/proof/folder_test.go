//go:build unix

package proof

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
)

// secret is the content of a file outside the folder.
const secret = "root:secret:20780::::::"

// misshapen returns functions that put something wrong in the place of a file, by its
// name.
func misshapen(t *testing.T) map[string]func(path string) error {
	outside := filepath.Join(t.TempDir(), "shadow")
	require.NoError(t, os.WriteFile(outside, []byte(secret+"\n"), 0o600))
	return map[string]func(path string) error{
		"link to another folder": func(path string) error { return os.Symlink(outside, path) },
		"link upwards":           func(path string) error { return os.Symlink("../../"+filepath.Base(filepath.Dir(outside)), path) },
		"link to a device":       func(path string) error { return os.Symlink("/dev/zero", path) },
		"FIFO":                   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder":                 func(path string) error { return os.Mkdir(path, 0o700) },
		"endless file": func(path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(path, 8<<30) // a sparse file
		},
	}
}

// TestFolderIsNotLeft: both verifiers report a file that is a link out of the folder, not
// a regular file, or endless. They neither wait for it nor disclose a file outside.
func TestFolderIsNotLeft(t *testing.T) {
	t.Parallel()
	files := simple(t).publishAll()
	for shape, create := range misshapen(t) {
		for _, name := range []string{"key", "commitment", "checkpoint", "checkpoints", "reveal", "witnesses", "log.jsonl"} {
			t.Run(shape+" for "+name, func(t *testing.T) {
				others := clone(files)
				delete(others, name)
				dir := folderOf(t, others)
				require.NoError(t, create(filepath.Join(dir, name)))
				folder, err := os.OpenRoot(dir)
				require.NoError(t, err)
				defer folder.Close()
				r, err := Verify(folder.FS(), VerifyOptions{})
				require.NoError(t, err)
				require.False(t, r.OK)
				want := RuleFile
				if name == "log.jsonl" && shape == "endless file" {
					want = RuleLine
				}
				require.Equal(t, want, r.Rule, r.Detail)
				require.NotContains(t, r.Detail, "secret")
				code, last := second(t, dir)
				require.Equal(t, 3, code, last)
				require.Contains(t, last, ": "+want+": ")
				require.NotContains(t, last, "secret")
			})
		}
	}
}

// TestFolderCatchesALink shows that the test above detects a verifier that follows links.
// Such a verifier prints the text of another file, or has no finding.
func TestFolderCatchesALink(t *testing.T) {
	t.Parallel()
	files := simple(t).publishAll()
	dir := folderOf(t, files)
	key := filepath.Join(dir, "key")
	outside := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.Rename(key, outside))
	require.NoError(t, os.Symlink(outside, key))
	r, err := Verify(os.DirFS(dir), VerifyOptions{}) // os.DirFS follows links
	require.NoError(t, err)
	require.True(t, r.OK, r.Detail)
	require.NoError(t, os.WriteFile(outside, []byte(secret+"\n"), 0o600))
	r, err = Verify(os.DirFS(dir), VerifyOptions{})
	require.NoError(t, err)
	require.Contains(t, r.Detail, "secret")
}

// TestLinksWithinTheFolder: a link to another file of the folder is read as that file.
func TestLinksWithinTheFolder(t *testing.T) {
	t.Parallel()
	dir := folderOf(t, simple(t).publishAll())
	require.NoError(t, os.Rename(filepath.Join(dir, "key"), filepath.Join(dir, "key-2026")))
	require.NoError(t, os.Symlink("key-2026", filepath.Join(dir, "key")))
	folder, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer folder.Close()
	r, err := Verify(folder.FS(), VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.OK, r.Detail)
	code, last := second(t, dir)
	require.Equal(t, 0, code, last)
}

// TestFindingsRepeatLittle: a finding repeats at most a hundred bytes of a text in the
// folder.
func TestFindingsRepeatLittle(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200_000)
	for name, content := range map[string]string{
		"key":       long + "\n",
		"witnesses": long + "\n",
		"log.jsonl": `{"v":1,"at":"2026-03-04T04:06:07.000890Z","kind":"` + long + "\"}\n",
		"reveal":    long,
	} {
		files := simple(t).publishAll()
		files[name] = &fstest.MapFile{Data: []byte(content)}
		r := verified(t, files, VerifyOptions{})
		require.False(t, r.OK, name)
		require.NotContains(t, r.Detail, long[:quoteMax+1], name)
		code, last := secondSays(t, files)
		require.Equal(t, 3, code, name)
		require.NotContains(t, last, long[:quoteMax+1], name)
	}
}

// counting counts the verified signatures.
type counting struct {
	note.Verifier
	verified int
}

func (c *counting) Verify(msg, sig []byte) bool {
	c.verified++
	return c.Verifier.Verify(msg, sig)
}

// TestEqualCheckpointsAreVerifiedOnce: a file of 200,000 equal checkpoints costs one
// check of a signature, both in the folder and as a kept file.
func TestEqualCheckpointsAreVerifiedOnce(t *testing.T) {
	t.Parallel()
	w := simple(t)
	one := w.check()
	checks := make([][]byte, 200_000)
	for i := range checks {
		checks[i] = one
	}
	files := w.files(w.log(), checks)
	v := &verifier{files: files, options: VerifyOptions{Live: true, Kept: [][]byte{files["checkpoints"].Data}}, folding: folding{drawn: newNames()}}
	require.NoError(t, v.readKey())
	counted := &counting{Verifier: v.key}
	v.key = counted
	for _, step := range []func() error{v.readCommitment, v.readCheckpoints, v.readKept, v.readReveal, v.readRules, v.readLog} {
		require.NoError(t, step())
	}
	require.LessOrEqual(t, counted.verified, 4, "the commitment, the checkpoint, the latest, and what was kept")

	for signed, err := range SplitNotes(bytes.NewReader(files["checkpoints"].Data)) { // the broken double verifies each note
		require.NoError(t, err)
		if _, err := OpenCheckpoint(signed, counted); err != nil || counted.verified > 100 {
			break
		}
	}
	require.Greater(t, counted.verified, 100, "so many are counted where each is opened")
}

// reading counts the bytes of the log that are read.
type reading struct {
	fstest.MapFS
	bytes int64
}

type readingFile struct {
	fs.File
	of *reading
}

func (r *reading) Open(name string) (fs.File, error) {
	f, err := r.MapFS.Open(name)
	if name == "log.jsonl" && err == nil {
		f = readingFile{f, r}
	}
	return f, err
}

func (f readingFile) Read(b []byte) (int, error) {
	n, err := f.File.Read(b)
	f.of.bytes += int64(n)
	return n, err
}

// TestNothingIsReadAfterTheLog: a verification ends at the first line that is not an
// entry, however much follows.
func TestNothingIsReadAfterTheLog(t *testing.T) {
	t.Parallel()
	files := simple(t).publishAll()
	log := files["log.jsonl"].Data
	files["log.jsonl"] = &fstest.MapFile{Data: append(bytes.Clone(log), bytes.Repeat([]byte("\n"), 32<<20)...)}
	folder := &reading{MapFS: files}
	r, err := Verify(folder, VerifyOptions{})
	require.NoError(t, err)
	require.Equal(t, RuleLine, r.Rule, r.Detail)
	require.Equal(t, int64(bytes.Count(log, []byte("\n")))+1, r.Entry)
	require.LessOrEqual(t, folder.bytes, int64(2*(len(log)+LineMax)))

	v := &verifier{files: folder} // the broken double reads every line
	require.NoError(t, v.eachLine(func([]byte) error { return nil }))
	require.Greater(t, folder.bytes, int64(32<<20))
}

// TestKeptCopyOfCheckpoints: a kept file may be a copy of the folder's checkpoints. A
// finding results if its first or its last checkpoint contradicts the log.
func TestKeptCopyOfCheckpoints(t *testing.T) {
	t.Parallel()
	w := simple(t)
	w.check()
	files := w.publishAll()
	honest := files["checkpoints"].Data
	other := simple(t)
	other.signer, other.key = w.signer, w.key // the operator signs two histories with one key
	forged := other.check()
	for _, c := range []struct {
		name string
		kept []byte
		rule string
	}{
		{"the file", honest, ""},
		{"the latest", files["checkpoint"].Data, ""},
		{"a commitment", files["commitment"].Data, ""},
		{"one of another history, first", JoinNotes([][]byte{forged, honest}), RuleKept},
		{"one of another history, last", JoinNotes([][]byte{honest, forged}), RuleKept},
		{"one that is not signed", JoinNotes([][]byte{honest, bytes.Replace(forged, []byte(" "), []byte(" A"), 1)}), RuleKept},
		{"a commitment within", JoinNotes([][]byte{honest, files["commitment"].Data}), RuleKept},
		{"two empty lines", append(append(bytes.Clone(honest), "\n\n"...), honest...), RuleKept},
		{"nothing", nil, RuleKept},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := verified(t, files, VerifyOptions{Kept: [][]byte{c.kept}})
			require.Equal(t, c.rule, r.Rule, r.Detail)
			path := filepath.Join(t.TempDir(), "kept")
			require.NoError(t, os.WriteFile(path, c.kept, 0o600))
			code, last := secondSays(t, files, "--kept", path)
			if c.rule == "" {
				require.Equal(t, 0, code, last)
				return
			}
			require.Equal(t, 3, code, last)
			require.Contains(t, last, ": "+c.rule+": ")
			if r.Entry == 0 {
				require.Contains(t, last, "entry 0: ")
			}
		})
	}
}

// TestNotesHaveABound: an endless note is refused before it is read completely.
func TestNotesHaveABound(t *testing.T) {
	t.Parallel()
	for name, endless := range map[string][]byte{"one line": []byte("x"), "many lines": []byte("x\n")} {
		in := &counted{text: endless}
		for _, err := range SplitNotes(in) {
			require.ErrorContains(t, err, "longer than", name)
		}
		require.Less(t, in.bytes, 2*NoteMax, name)
	}
}

// counted is an endless text that counts the bytes read.
type counted struct {
	text  []byte
	bytes int
}

func (c *counted) Read(b []byte) (int, error) {
	if c.bytes > 100*NoteMax {
		return 0, io.ErrUnexpectedEOF
	}
	n := 0
	for n+len(c.text) <= len(b) {
		n += copy(b[n:], c.text)
	}
	c.bytes += n
	return n, nil
}
