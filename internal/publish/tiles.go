package publish

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/proof"
)

// tileHeight makes tiles of 256 hashes, per c2sp.org/tlog-tiles.
const (
	tileHeight = 8
	tileWidth  = 1 << tileHeight
)

// tiles are the hashes of a log's tree. The content of the files is checked against the
// last signed root.
type tiles struct {
	disk *disk
	// signed is the tree of the last checkpoint. size is the number of leaves, including
	// those after the checkpoint.
	signed tlog.Tree
	size   int64
	// grown is the tree of all leaves, nil until its right edge was read from the files.
	grown *proof.Tree
	// fresh are the hashes after the signed tree, in the order of their indexes.
	fresh []tlog.Hash
}

// reset drops all leaves after the signed tree.
func (t *tiles) reset(signed tlog.Tree) {
	if t.grown != nil && t.grown.Size() != signed.N {
		t.grown = nil
	}
	t.signed, t.size, t.fresh = signed, signed.N, t.fresh[:0]
}

// add adds the line as the next leaf.
func (t *tiles) add(line []byte) error {
	if t.grown == nil {
		if err := t.begin(); err != nil {
			return err
		}
	}
	t.grown.Grow(proof.LeafHash(line), func(h tlog.Hash) { t.fresh = append(t.fresh, h) })
	t.size++
	return nil
}

// begin reads the right edge of the signed tree.
func (t *tiles) begin() error {
	var places []int64
	for level := 62; level >= 0; level-- {
		if at := t.signed.N >> level; at&1 == 1 {
			places = append(places, tlog.StoredHashIndex(level, at-1))
		}
	}
	peaks, err := t.ReadHashes(places)
	if err == nil {
		t.grown = proof.NewTree(t.signed.N, peaks)
	}
	return err
}

// leaves returns the hashes of the lines of some versions.
func (t *tiles) leaves(from, to int64) ([]tlog.Hash, error) {
	places := make([]int64, 0, to-from+1)
	for v := from; v <= to; v++ {
		places = append(places, tlog.StoredHashIndex(0, v-1))
	}
	return t.ReadHashes(places)
}

// save writes the tiles of a tree of the given size, except those that the signed tree
// has.
func (t *tiles) save(size int64) error {
	for _, tile := range tlog.NewTiles(tileHeight, t.signed.N, size) {
		data, err := tlog.ReadTileData(tile, t)
		if err != nil {
			return err
		}
		if err := t.disk.write(tilePath(tile), data); err != nil {
			return err
		}
	}
	return nil
}

// sign makes a tree the signed one, and removes partial tiles that the tree completes.
func (t *tiles) sign(tree tlog.Tree) error {
	whole := tlog.NewTiles(tileHeight, t.signed.N, tree.N)
	behind := t.fresh[tlog.StoredHashIndex(0, tree.N)-t.begun():]
	t.signed, t.fresh = tree, append([]tlog.Hash(nil), behind...) // a copy, because the hashes of a long batch take megabytes
	for _, tile := range whole {
		if tile.W == tileWidth {
			if err := t.disk.root.RemoveAll(t.disk.path(tilePath(tile) + ".p")); err != nil {
				return err
			}
		}
	}
	return nil
}

// begun returns the index of the first hash after the signed tree.
func (t *tiles) begun() int64 { return tlog.StoredHashIndex(0, t.signed.N) }

// ReadHashes implements tlog.HashReader.
func (t *tiles) ReadHashes(places []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(places))
	var missing, at []int64
	begun := t.begun()
	for i, place := range places {
		if fresh := place - begun; 0 <= fresh && fresh < int64(len(t.fresh)) {
			hashes[i] = t.fresh[fresh]
		} else {
			missing, at = append(missing, place), append(at, int64(i))
		}
	}
	if len(missing) == 0 {
		return hashes, nil
	}
	found, err := tlog.TileHashReader(t.signed, tileFiles{t.disk}).ReadHashes(missing)
	if err != nil {
		return nil, fmt.Errorf("the tiles in %s are damaged: %w", t.disk.fullPath(""), err)
	}
	for i, h := range found {
		hashes[at[i]] = h
	}
	return hashes, nil
}

// tileFiles implements tlog.TileReader.
type tileFiles struct{ disk *disk }

// Height implements tlog.TileReader.
func (tileFiles) Height() int { return tileHeight }

// ReadTiles implements tlog.TileReader. If a partial tile was removed, it reads the
// beginning of the complete tile.
func (f tileFiles) ReadTiles(wanted []tlog.Tile) (data [][]byte, err error) {
	for _, tile := range wanted {
		b, err := f.disk.readWhole(tilePath(tile))
		if errors.Is(err, fs.ErrNotExist) && tile.W < tileWidth {
			whole := tile
			whole.W = tileWidth
			if b, err = f.disk.readWhole(tilePath(whole)); err == nil {
				b = b[:min(len(b), tile.W*tlog.HashSize)]
			}
		}
		if err != nil {
			return nil, err
		}
		data = append(data, b)
	}
	return data, nil
}

// SaveTiles implements tlog.TileReader.
func (tileFiles) SaveTiles([]tlog.Tile, [][]byte) {}

// tilePath returns the path of a tile per c2sp.org/tlog-tiles, where the path does not
// contain the height.
func tilePath(t tlog.Tile) string {
	rest := strings.TrimPrefix(t.Path(), fmt.Sprintf("tile/%d/", tileHeight))
	if data, is := strings.CutPrefix(rest, "data/"); is {
		rest = "entries/" + data
	}
	return "tile/" + rest
}
