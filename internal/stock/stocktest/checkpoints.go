package stocktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// signEach stores a checkpoint for each size of a pool's log after the commitment, as a
// publisher does if it finds one new entry each time.
func signEach(t *testing.T, s *stock.Store) (sizes []int64) {
	t.Helper()
	p, err := s.Publishing(t.Context(), "p")
	require.NoError(t, err)
	tail, err := p.Lines(t.Context(), 1, 100_000)
	require.NoError(t, err)
	require.True(t, tail.Ended)
	var tree proof.Tree
	var rows []string
	for _, l := range tail.Lines {
		if tree.Add(l.Text); tree.Size() < 10 {
			continue
		}
		note, err := p.Sign((&proof.Checkpoint{Origin: p.Origin(), Size: tree.Size(), Root: tree.Root()}).Text())
		require.NoError(t, err)
		rows = append(rows, fmt.Sprintf("('p', %d, '%s')", tree.Size(), note))
		sizes = append(sizes, tree.Size())
	}
	ExecAll(t, s, []string{"INSERT INTO checkpoints (pool_id, size, note) VALUES " + strings.Join(rows, ", ")})
	return sizes
}

// testCheckpointsOfEach: a log with more checkpoints than fit in a page is exported with
// all of them. The root of each is compared with the log. If the checkpoints are
// published, the signature of each is verified too. Otherwise the signature of the last
// covers the others.
func testCheckpointsOfEach(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	signedPool(t, s, 500)
	sizes := signEach(t, s)
	require.Greater(t, len(sizes), 1250)
	export := func() error {
		var b strings.Builder
		_, err := s.ExportProof(ctx, "p", &b)
		return err
	}
	require.NoError(t, export())
	p, err := s.Proof(ctx, "p")
	require.NoError(t, err)
	require.Len(t, strings.Split(string(p.Checkpoints), "\n\n"), 2*len(sizes))

	note := func(size int64) (note string) {
		require.NoError(t, s.LockDB().QueryRowContext(ctx, fmt.Sprintf("SELECT note FROM checkpoints WHERE size = %d", size)).Scan(&note))
		return note
	}
	set := func(size int64, note string) {
		ExecAll(t, s, []string{fmt.Sprintf("UPDATE checkpoints SET note = '%s' WHERE size = %d", note, size)})
	}
	for _, size := range []int64{sizes[0], sizes[999], sizes[1000], sizes[len(sizes)-1]} {
		beside := size - 1
		if size == sizes[0] {
			beside = size + 1
		}
		good := note(size)
		set(size, strings.Replace(note(beside), fmt.Sprintf("\n%d\n", beside), fmt.Sprintf("\n%d\n", size), 1))
		require.Error(t, export(), "the root of another size, at %d", size)
		set(size, good)
		require.NoError(t, export())
	}
	last := note(sizes[len(sizes)-1])
	good := note(sizes[500])
	set(sizes[500], good[:len(good)-9]+"AAAAAAA=\n")
	code(t, draw.CodeLogForked, export())
	require.NoError(t, s.WriteProofLog(ctx, "p", &strings.Builder{}, func() {}), "the log alone leaves the house")
	set(sizes[500], strings.Replace(good, "\n\n", "\nmore\n\n", 1))
	code(t, draw.CodeLogForked, export())
	require.NoError(t, s.Checkpoint(ctx, "p"), "the last one covers the log")
	set(sizes[len(sizes)-1], last[:len(last)-9]+"AAAAAAA=\n")
	code(t, draw.CodeLogForked, s.Checkpoint(ctx, "p"))
	ExecAll(t, s, []string{fmt.Sprintf("DELETE FROM checkpoints WHERE size > %d", sizes[1200])})
	setState(t, s, "p", draw.StateClosed)
	_, err = s.Reveal(ctx, "p")
	require.NoError(t, err, "nobody reads all checkpoints for it")
}

// testCheckpointsHandedOver: a checkpoint that the pool's key signed elsewhere is stored,
// and the same one with more signatures replaces it. No other note is stored.
func testCheckpointsHandedOver(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	head := signedPool(t, s, 20)
	published, err := s.Publishing(ctx, "p")
	require.NoError(t, err)
	tail, err := published.Lines(ctx, 1, 10_000)
	require.NoError(t, err)
	var tree proof.Tree
	sign := func(size int64, root [32]byte) []byte {
		note, err := published.Sign((&proof.Checkpoint{Origin: published.Origin(), Size: size, Root: root}).Text())
		require.NoError(t, err)
		return note
	}
	for _, l := range tail.Lines[:10] {
		tree.Add(l.Text)
	}
	note := sign(10, tree.Root())
	for range 2 { // storing it a second time changes nothing
		require.NoError(t, s.KeepCheckpoint(ctx, "p", note))
	}
	stored, err := s.Published(ctx, "p", "checkpoint")
	require.NoError(t, err)
	require.Equal(t, note, stored)

	Pool(t, s, "secret", 1)
	code(t, draw.CodePoolNotFound, s.KeepCheckpoint(ctx, "q", note))
	code(t, draw.CodeNotFound, s.KeepCheckpoint(ctx, "secret", note))
	code(t, draw.CodeInvalidRequest, s.KeepCheckpoint(ctx, "p", []byte("no note")))
	forged := append(slices.Clone(note[:len(note)-9]), "AAAAAAA=\n"...)
	code(t, draw.CodeInvalidRequest, s.KeepCheckpoint(ctx, "p", forged))
	code(t, draw.CodeLogForked, s.KeepCheckpoint(ctx, "p", sign(10, [32]byte{1})))
	code(t, draw.CodeLogForked, s.KeepCheckpoint(ctx, "p", sign(head+1, tree.Root())))
	stored, err = s.Published(ctx, "p", "checkpoint")
	require.NoError(t, err)
	require.Equal(t, note, stored)
}
