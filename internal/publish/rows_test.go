package publish

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/proof"
)

const origin = "draws.example.org/spring"

// rows is a database in memory with one committed pool, whose lines derive from their
// versions. Checkpoints are kept in a file, because a file outlives a process.
type rows struct {
	head Head
	// from is the first version that belongs to another history, 0 for none. edited is a
	// single version whose line was changed.
	from     int64
	edited   int64
	kept     string
	standby  bool
	signer   note.Signer
	key      string
	pageSize int
	// meanwhile, if not nil, is called once, before lines are read.
	meanwhile func()
}

func newRows(kept string) *rows {
	seed := sha256.Sum256([]byte("a key that protects nothing"))
	secret, key, err := note.GenerateKey(bytes.NewReader(seed[:]), origin)
	if err != nil {
		panic(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		panic(err)
	}
	return &rows{head: Head{PoolID: "spring"}, kept: kept, signer: signer, key: key, pageSize: batchMax}
}

// line returns the line of a version. It states the line's history.
func (r *rows) line(v int64) []byte {
	return fmt.Appendf(nil, "{\"v\":%d,\"at\":\"later\",\"other\":%t}\n", v, r.from > 0 && v >= r.from || v == r.edited)
}

// tree returns the tree of the first size lines.
func (r *rows) tree(size int64) tlog.Tree {
	var t proof.Tree
	for v := int64(1); v <= size; v++ {
		t.Add(r.line(v))
	}
	return tlog.Tree{N: size, Hash: t.Root()}
}

func (r *rows) Heads(context.Context) ([]Head, error) { return []Head{r.head}, nil }

func (r *rows) Pool(context.Context, string) (*Pool, error) {
	sign := func(text string) ([]byte, error) { return note.Sign(&note.Note{Text: text}, r.signer) }
	return &Pool{Origin: origin, Commitment: []byte("a commitment\n"), Key: []byte(r.key + "\n"), Sign: sign, Source: r}, nil
}

func (r *rows) Lines(_ context.Context, from int64, limit int) (proof.Tail, error) {
	if happens := r.meanwhile; happens != nil {
		r.meanwhile = nil
		happens()
	}
	t := proof.Tail{Writable: !r.standby}
	for v := from; v <= r.head.Version && len(t.Lines) < min(limit, r.pageSize); v++ {
		t.Lines = append(t.Lines, proof.Numbered{Version: v, Text: r.line(v)})
	}
	t.Ended = from+int64(len(t.Lines)) > r.head.Version
	return t, nil
}

// all returns the stored checkpoints, by their sizes.
func (r *rows) all() (map[int64][]byte, error) {
	kept := map[int64][]byte{}
	b, err := os.ReadFile(r.kept)
	if errors.Is(err, os.ErrNotExist) {
		return kept, nil
	}
	if err != nil {
		return nil, err
	}
	return kept, json.Unmarshal(b, &kept)
}

func (r *rows) Signed(_ context.Context, after int64) (found [][]byte, err error) {
	kept, err := r.all()
	for size := after + 1; size <= r.head.Version+1000; size++ {
		if kept[size] != nil {
			found = append(found, kept[size])
		}
	}
	return found, err
}

func (r *rows) Keep(_ context.Context, size int64, note []byte) error {
	kept, err := r.all()
	if err != nil {
		return err
	}
	kept[size] = note
	b, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.kept+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(r.kept+".new", r.kept)
}

// open opens a publisher in a folder.
func open(tb testing.TB, o Options) *Publisher {
	tb.Helper()
	o.Log = slog.New(slog.NewTextHandler(tb.Output(), nil))
	p, err := New(o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, p.Close()) })
	return p
}

// checkpoints returns the checkpoints of a folder, each opened with the pool's key.
func (r *rows) checkpoints(tb testing.TB, dir string) (all []*signed) {
	tb.Helper()
	n := r.notes(tb, dir)
	require.NoError(tb, n.each(func(b []byte) bool {
		c, err := n.parse(b)
		require.NoError(tb, err)
		all = append(all, c)
		return true
	}))
	return all
}

// notes returns the checkpoints of the pool's folder within the publisher's folder.
func (r *rows) notes(tb testing.TB, dir string) *notes {
	tb.Helper()
	v, err := proof.Verifier(r.key)
	require.NoError(tb, err)
	return &notes{diskOf(tb, dir, nil), origin, v}
}

// folderOf returns the files of the pool's folder within the publisher's folder, without
// the list of checkpoints.
func folderOf(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	files := map[string]string{}
	root := os.DirFS(filepath.Join(dir, "spring"))
	require.NoError(tb, fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == allName {
			return err
		}
		b, err := fs.ReadFile(root, path)
		files[path] = string(b)
		return err
	}))
	return files
}
