package publish

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	formats "github.com/transparency-dev/formats/log"
	cosigned "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/publish/witnesstest"
)

// outside reads a folder by c2sp.org/tlog-tiles, without our code.
type outside struct{ dir string }

func (outside) Height() int                     { return 8 }
func (outside) SaveTiles([]tlog.Tile, [][]byte) {}
func (o outside) ReadTiles(tiles []tlog.Tile) (data [][]byte, err error) {
	for _, t := range tiles {
		b, err := os.ReadFile(filepath.Join(o.dir, "tile", strings.TrimPrefix(t.Path(), "tile/8/")))
		if err != nil {
			return nil, err
		}
		data = append(data, b)
	}
	return data, nil
}

// TestInterop: libraries of other programs read the tiles, the bundles, the checkpoint
// and its cosignature.
func TestInterop(t *testing.T) {
	t.Parallel()
	w := witnesstest.Start(t, newRows("").key)
	p, r, dir := witnessed(t, w.URL, w.Key)
	p.options.Live = true
	const size = 66_000 // a tree with three levels of tiles
	for _, version := range []int64{5, 256, 700, size} {
		r.pass(t, p, version)
	}
	folder := filepath.Join(dir, "spring")
	latest, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	require.NoError(t, err)
	log, err := note.NewVerifier(r.key)
	require.NoError(t, err)
	witness, err := cosigned.NewVerifierForCosignatureV1(w.Key)
	require.NoError(t, err)
	c, _, n, err := formats.ParseCheckpoint(latest, origin, log, witness)
	require.NoError(t, err)
	require.Len(t, n.Sigs, 2, "the pool's and the witness's")
	require.EqualValues(t, size, c.Size)

	tree := tlog.Tree{N: size, Hash: tlog.Hash(c.Hash)}
	hashes := tlog.TileHashReader(tree, outside{folder})
	for _, v := range []int64{1, 255, 256, 257, 65536, size} {
		steps, err := tlog.ProveRecord(size, v-1, hashes)
		require.NoError(t, err)
		require.NoError(t, tlog.CheckRecord(steps, size, tree.Hash, v-1, tlog.RecordHash(r.line(v))))
	}
	steps, err := tlog.ProveTree(size, 700, hashes)
	require.NoError(t, err)
	require.NoError(t, tlog.CheckTree(steps, size, tree.Hash, 700, r.tree(700).Hash))
	var next int64
	for n := int64(0); next < size; n++ {
		tile := tlog.Tile{H: 8, L: 0, N: n, W: int(min(256, size-next))}
		b, err := os.ReadFile(filepath.Join(folder, "tile/entries", strings.TrimPrefix(tile.Path(), "tile/8/0/")))
		require.NoError(t, err)
		for len(b) > 0 {
			length := int(binary.BigEndian.Uint16(b))
			next++
			require.Equal(t, string(r.line(next)), string(b[2:2+length]), fmt.Sprint(tile))
			b = b[2+length:]
		}
	}
	all, err := os.ReadFile(filepath.Join(folder, logName))
	require.NoError(t, err)
	require.EqualValues(t, size, strings.Count(string(all), "\n"))
}

// TestPages: the memory of a publisher depends on the size of a page, not of the log,
// even while it catches up.
func TestPages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "public")
	r := newRows(dir + ".kept")
	r.pageSize = 100
	p := open(t, Options{Dir: dir, Every: 1, Live: true})
	r.pass(t, p, 1050)
	require.Len(t, r.checkpoints(t, dir), 11, "each page is signed, so that a restart goes on there")
	require.Empty(t, p.pools["spring"].tiles.fresh)
	require.NoError(t, p.Pass(t.Context(), r, true))
}
