package publish

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFailedPassTakesNothingAway: a pass that could not write a file removes no published
// data. Later passes succeed, whatever happened to the files that the failed pass wrote.
func TestFailedPassTakesNothingAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	at := func(name string) string { return filepath.Join(dir, "spring", "tile", filepath.FromSlash(name)) }
	r := newRows(dir + ".kept")
	p := open(t, Options{Dir: dir, Live: true, Every: 1})
	r.head.Version, r.head.Mark = 100, 100
	require.NoError(t, p.Pass(t.Context(), r, false))

	inTheWay := at("entries/000.new")
	require.NoError(t, os.Mkdir(inTheWay, 0o750))
	r.head.Version, r.head.Mark = 300, 300
	for range 2 {
		require.Error(t, p.Pass(t.Context(), r, false))
		require.FileExists(t, at("entries/000.p/100"))
	}
	require.Len(t, r.checkpoints(t, dir), 1)

	require.FileExists(t, at("0/001.p/44"))
	require.NoError(t, os.RemoveAll(at("0/001.p")))
	require.NoError(t, os.Remove(inTheWay))
	r.head.Version, r.head.Mark = 256, 256
	require.NoError(t, p.Pass(t.Context(), r, false))
	require.NoDirExists(t, at("entries/000.p"))
	require.FileExists(t, at("entries/000"))
	require.EqualValues(t, 256, r.checkpoints(t, dir)[1].Size)
}

// TestFailedReveal: if the lines of a closed pool could not be published, the next pass
// publishes them.
func TestFailedReveal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "public")
	at := func(name string) string { return filepath.Join(dir, "spring", filepath.FromSlash(name)) }
	for _, name := range []string{"tile/entries/000.p/100", logName} {
		r := newRows(dir + ".kept")
		p := open(t, Options{Dir: dir, Every: 1})
		r.head.Version, r.head.Mark = 100, 100
		require.NoError(t, p.Pass(t.Context(), r, false))

		inTheWay := at(name)
		if name != logName {
			inTheWay += ".new"
		}
		require.NoError(t, os.MkdirAll(inTheWay, 0o750))
		r.head.Reveal = []byte("1 seed\n")
		require.Error(t, p.Pass(t.Context(), r, false))
		require.NoError(t, os.Remove(inTheWay))
		require.NoError(t, p.Pass(t.Context(), r, false))
		require.FileExists(t, at("tile/entries/000.p/100"))
		require.FileExists(t, at(logName))
		require.NoError(t, p.Close())
		require.NoError(t, os.RemoveAll(dir))
	}
}
