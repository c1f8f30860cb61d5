package publish

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/proof"
	"drawsvc/internal/publish/witnesstest"
)

// witnessed returns a publisher with a witness, and its rows. The publisher waits long
// enough for the witness, even on a slow machine.
func witnessed(t *testing.T, url, key string) (*Publisher, *rows, string) {
	return witnessedFor(t, url, key, time.Minute)
}

// witnessedFor is like witnessed, with the given patience.
func witnessedFor(t *testing.T, url, key string, patience time.Duration) (*Publisher, *rows, string) {
	dir := filepath.Join(t.TempDir(), "public")
	w, err := proof.ParseWitness(key)
	require.NoError(t, err)
	r := newRows(dir + ".kept")
	return open(t, Options{Dir: dir, Every: 1, Witnesses: []Witness{{url, w}}, patience: patience}), r, dir
}

// pass publishes up to a version.
func (r *rows) pass(t *testing.T, p *Publisher, version int64) {
	t.Helper()
	r.head.Version, r.head.Mark = version, version
	for _, a := range p.pools["spring"].attendances() {
		a.until = time.Time{} // the pause after a failure is over
	}
	require.NoError(t, p.Pass(t.Context(), r, false))
}

func (p *pool) attendances() []*attendance {
	if p == nil {
		return nil
	}
	return p.witnesses
}

// cosignedBy returns the sizes of a folder's checkpoints that the witness has cosigned,
// and those that it has not.
func (r *rows) cosignedBy(t *testing.T, dir, key string) (with, without []int64) {
	w, err := proof.ParseWitness(key)
	require.NoError(t, err)
	for _, c := range r.checkpoints(t, dir) {
		at, ok, err := w.Cosigned(c.text, proof.Signatures(c.note))
		require.NoError(t, err)
		if !ok {
			without = append(without, c.Size)
			continue
		}
		require.WithinDuration(t, time.Now(), at, time.Minute)
		with = append(with, c.Size)
	}
	return with, without
}

// TestWitness: checkpoints are cosigned, including earlier ones and those from a time
// when the witness was unavailable. Publishing does not wait for the witness. The
// database has the cosignatures.
func TestWitness(t *testing.T) {
	t.Parallel()
	keys := newRows("").key
	w := witnesstest.Start(t, keys)
	p, r, dir := witnessed(t, w.URL, w.Key)
	r.pass(t, p, 10)
	r.pass(t, p, 300)
	w.Away.Store(true)
	r.pass(t, p, 301)
	r.pass(t, p, 700)
	with, without := r.cosignedBy(t, dir, w.Key)
	require.Equal(t, []int64{10, 300}, with)
	require.Equal(t, []int64{301, 700}, without, "they are published without it")
	w.Away.Store(false)
	w.Lose.Store(true)
	r.pass(t, p, 701)
	require.EqualValues(t, 301, w.Size(origin), "it has cosigned, and nobody knows")
	w.Lose.Store(false)
	r.pass(t, p, 701) // without a new entry
	r.pass(t, p, 702)
	with, without = r.cosignedBy(t, dir, w.Key)
	require.Equal(t, []int64{10, 300, 301, 700, 701, 702}, with)
	require.Empty(t, without)
	kept, err := r.all()
	require.NoError(t, err)
	for _, c := range r.checkpoints(t, dir) {
		require.Equal(t, string(kept[c.Size]), string(c.note))
	}

	// The next publisher of the folder continues from the last size that the witness
	// has cosigned.
	require.NoError(t, p.Close())
	asked := w.Asked.Load()
	again := open(t, p.options)
	r.pass(t, again, 703)
	require.Equal(t, asked+1, w.Asked.Load())

	// A new folder of the same pool gets the cosignatures from the database.
	fresh := p.options
	fresh.Dir = filepath.Join(t.TempDir(), "fresh")
	r.pass(t, open(t, fresh), 703)
	with, without = r.cosignedBy(t, fresh.Dir, w.Key)
	require.Equal(t, []int64{10, 300, 301, 700, 701, 702, 703}, with)
	require.Empty(t, without)
}

// TestWitnessOfOthers: a checkpoint of another signer, such as one of a close, is
// cosigned like the publisher's own. This holds even if the pool has changed before its
// rows are read.
func TestWitnessOfOthers(t *testing.T) {
	t.Parallel()
	w := witnesstest.Start(t, newRows("").key)
	p, r, dir := witnessed(t, w.URL, w.Key)
	r.pass(t, p, 300)
	r.meanwhile = func() {
		r.head.Version = 712
		of, err := r.Pool(t.Context(), "")
		require.NoError(t, err)
		note, err := of.Sign((&proof.Checkpoint{Origin: origin, Size: 710, Root: r.tree(710).Hash}).Text())
		require.NoError(t, err)
		require.NoError(t, r.Keep(t.Context(), 710, note))
	}
	r.pass(t, p, 705)
	with, without := r.cosignedBy(t, dir, w.Key)
	require.Equal(t, []int64{300, 710, 712}, with)
	require.Empty(t, without)
	kept, err := r.all()
	require.NoError(t, err)
	require.Len(t, kept, 3)
	for _, c := range r.checkpoints(t, dir) {
		require.Equal(t, string(kept[c.Size]), string(c.note))
	}
}

// TestWitnessRefusesForks: the tests' witness refuses every request that a real witness
// must refuse, and the publisher continues without a cosignature.
func TestWitnessRefusesForks(t *testing.T) {
	t.Parallel()
	w := witnesstest.Start(t, newRows("").key)
	p, r, _ := witnessed(t, w.URL, w.Key)
	r.pass(t, p, 10)
	r.pass(t, p, 300)
	for name, change := range map[string]func(*rows) int64{
		"a smaller tree":           func(*rows) int64 { return 299 },
		"another of its size":      func(r *rows) int64 { r.from = 300; return 300 },
		"one that does not follow": func(r *rows) int64 { r.from = 200; return 400 },
	} {
		other, own, dir := witnessed(t, w.URL, w.Key)
		own.pass(t, other, change(own))
		with, without := own.cosignedBy(t, dir, w.Key)
		require.Empty(t, with, name)
		require.Len(t, without, 1, name)
	}
	require.EqualValues(t, 300, w.Size(origin))
}

// TestWitnessThatHangs: witnesses that do not answer, or answer invalidly, delay a
// checkpoint for at most patience. Then they are skipped for a while and delay no
// checkpoint.
func TestWitnessThatHangs(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // after this, the server notices that the caller has left
		asked.Add(1)
		<-r.Context().Done()
	}))
	defer server.Close()
	key := witnesstest.Start(t).Key
	p, r, dir := witnessedFor(t, server.URL, key, patience)
	begun := time.Now()
	r.pass(t, p, 10)
	a := p.pools["spring"].witnesses[0]
	require.True(t, a.until.After(begun.Add(patience)))
	a.until = time.Now().Add(time.Hour) // even on a slow machine, the pause is not over
	r.head.Version, r.head.Mark = 11, 11
	require.NoError(t, p.Pass(t.Context(), r, false))
	require.LessOrEqual(t, asked.Load(), int64(1), "it is left alone")
	_, without := r.cosignedBy(t, dir, key)
	require.Equal(t, []int64{10, 11}, without)

	a = &attendance{}
	a.Key, _ = proof.ParseWitness(key)
	for status, answer := range map[int]string{200: "", 409: "many\n", 422: "", 404: "", 500: "x"} {
		_, err := a.read(status, []byte(answer), "text\n")
		require.Error(t, err, "%d", status)
	}
	_, err := a.read(200, []byte(strings.Repeat("— witness.example/w AAAA\n", 3)), "text\n")
	require.Error(t, err)
}
