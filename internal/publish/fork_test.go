package publish

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/proof"
)

// forkable returns a publisher that has published checkpoints of 300 and of 700 entries.
func forkable(t *testing.T) (*Publisher, *rows, *int) {
	dir := filepath.Join(t.TempDir(), "public")
	r, forks := newRows(dir+".kept"), new(int)
	p := open(t, Options{Dir: dir, Every: 1, Forked: func() { *forks++ }})
	r.pass(t, p, 300)
	r.pass(t, p, 700)
	return p, r, forks
}

// TestForks: if the rows differ from the signed log, nothing more is signed. This
// publisher and the next one name the first version that differs. Once the rows are
// repaired, publishing continues.
func TestForks(t *testing.T) {
	t.Parallel()
	for name, fork := range map[string]struct {
		change func(*rows)
		says   string
	}{
		"versions lost":               {func(r *rows) { r.head.Version = 650 }, "version 651 is missing, and was signed"},
		"versions lost, and new ones": {func(r *rows) { r.head.Version, r.from = 900, 650 }, "version 650 is not the one that was signed"},
		"the same version, another":   {func(r *rows) { r.from = 700 }, "version 700 is not the one that was signed"},
		"all lost":                    {func(r *rows) { r.head.Version = 0 }, "version 1 is missing, and was signed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, r, forks := forkable(t)
			fork.change(r)
			r.head.Mark++
			for range 3 {
				err := p.Pass(t.Context(), r, false)
				require.ErrorIs(t, err, ErrForked)
				require.ErrorContains(t, err, fork.says)
			}
			require.Equal(t, 1, *forks)
			require.Len(t, r.checkpoints(t, p.options.Dir), 2)
			require.NoError(t, p.Close())
			next := open(t, p.options)
			require.ErrorIs(t, next.Pass(t.Context(), r, false), ErrForked)
			require.NoError(t, next.Close())
			r.from, r.head.Version = 0, 701
			mended := open(t, p.options)
			require.NoError(t, mended.Pass(t.Context(), r, false))
			require.Equal(t, []Status{{"spring", 701}}, mended.Published())
			require.Len(t, r.checkpoints(t, p.options.Dir), 3)
		})
	}
}

// TestEditedRows: a repeated comparison finds an edited row that is followed by other
// rows, in a normal pass or in a pass that compares everything.
func TestEditedRows(t *testing.T) {
	t.Parallel()
	p, r, _ := forkable(t)
	r.edited = 5
	require.ErrorContains(t, p.Pass(t.Context(), r, false), "version 5 is not the one that was signed", "one pool is compared in each pass")
	q, s, _ := forkable(t)
	s.edited = 699
	require.ErrorContains(t, q.Pass(t.Context(), s, true), "version 699 is not the one that was signed")
}

// TestLaggingStandbyIsNoFork: rows that a standby lacks do not count as a fork. The rows
// that it has are published without a write to its database.
func TestLaggingStandbyIsNoFork(t *testing.T) {
	t.Parallel()
	p, r, forks := forkable(t)
	r.standby = true
	kept, err := r.all()
	require.NoError(t, err)
	r.head.Version, r.head.Mark = 690, 690
	require.ErrorContains(t, p.Pass(t.Context(), r, false), "the standby is behind")
	r.pass(t, p, 702)
	require.Zero(t, *forks)
	require.Len(t, r.checkpoints(t, p.options.Dir), 3)
	now, err := r.all()
	require.NoError(t, err)
	require.Len(t, now, len(kept))
	r.from, r.head.Version = 695, 800
	require.ErrorContains(t, p.Pass(t.Context(), r, false), "version 695 is not the one that was signed")
}

// TestCheckpointsOfOthersAreCompared: checkpoints that were signed elsewhere are
// compared and published; a checkpoint with another root is a fork.
func TestCheckpointsOfOthersAreCompared(t *testing.T) {
	t.Parallel()
	p, r, _ := forkable(t)
	sign := func(size int64) {
		of, err := r.Pool(t.Context(), "")
		require.NoError(t, err)
		tree := r.tree(size)
		note, err := of.Sign((&proof.Checkpoint{Origin: origin, Size: size, Root: tree.Hash}).Text())
		require.NoError(t, err)
		require.NoError(t, r.Keep(t.Context(), size, note))
	}
	sign(710)
	r.pass(t, p, 720)
	var sizes []int64
	for _, c := range r.checkpoints(t, p.options.Dir) {
		sizes = append(sizes, c.Size)
	}
	require.Equal(t, []int64{300, 700, 710, 720}, sizes)
	r.from = 725
	sign(730)
	r.from, r.head.Version = 0, 740
	require.ErrorContains(t, p.Pass(t.Context(), r, false), "version 730 ends a log that was signed with another root")
}

// TestCheckpointsKeepTheirInterval: two checkpoints have the interval Every between them,
// unless the pool has changed.
func TestCheckpointsKeepTheirInterval(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "public")
	r := newRows(dir + ".kept")
	p := open(t, Options{Dir: dir, Every: time.Hour})
	r.pass(t, p, 300)
	r.pass(t, p, 301)
	require.Len(t, r.checkpoints(t, dir), 1)
	r.head.Revision = 305
	r.pass(t, p, 305)
	require.Len(t, r.checkpoints(t, dir), 2)
	_, err := New(Options{Dir: dir})
	require.ErrorContains(t, err, "another publisher has the folder")
}
