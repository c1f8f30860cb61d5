package proof

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/draw"
)

// leaves returns n lines, and a reader of the hashes of their tree, numbered as in
// package tlog.
func leaves(t *testing.T, n int64) ([][]byte, tlog.HashReader) {
	var lines [][]byte
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(at []int64) (found []tlog.Hash, _ error) {
		for _, i := range at {
			found = append(found, stored[i])
		}
		return found, nil
	})
	for i := range n {
		lines = append(lines, fmt.Appendf(nil, "line %d\n", i))
		hashes, err := tlog.StoredHashes(i, lines[i], read)
		require.NoError(t, err)
		stored = append(stored, hashes...)
	}
	return lines, read
}

func subtreeOf(lines [][]byte) func(lo, hi int64) (tlog.Hash, error) {
	return func(lo, hi int64) (tlog.Hash, error) {
		return Subtree(lo, hi, func(lo, hi int64) (tlog.Hash, bool) {
			if hi-lo != 1 {
				return tlog.Hash{}, false
			}
			return tlog.RecordHash(lines[lo]), true
		})
	}
}

// TestInclusion: for one line the proof is that of RFC 6962. A proof for several lines
// holds for these lines, and for no others.
func TestInclusion(t *testing.T) {
	lines, read := leaves(t, 70)
	subtree := subtreeOf(lines)
	for size := int64(1); size <= 70; size++ {
		want, err := tlog.TreeHash(size, read)
		require.NoError(t, err)
		for first := range size {
			for _, n := range []int64{1, 2, 3, 10, 33} {
				if first+n > size {
					break
				}
				hashes, err := Prove(size, first, first+n, subtree)
				require.NoError(t, err)
				p := Inclusion{Index: first, Hashes: hashes}
				root, err := p.Root(size, lines[first:first+n])
				require.NoError(t, err)
				require.Equal(t, want, root, "%d lines from %d in a tree of %d", n, first, size)
				if n == 1 {
					rfc, err := tlog.ProveRecord(size, first, read)
					require.NoError(t, err)
					require.Len(t, hashes, len(rfc))
					for i := range rfc {
						require.Equal(t, base64.StdEncoding.EncodeToString(rfc[i][:]), hashes[i])
					}
				}
				changed := append([][]byte{}, lines[first:first+n]...)
				changed[n-1] = []byte("another\n")
				if root, err := p.Root(size, changed); err == nil {
					require.NotEqual(t, want, root)
				}
			}
		}
	}
}

// TestInclusionRefuses: an invalid proof is refused, in bounded time.
func TestInclusionRefuses(t *testing.T) {
	line := [][]byte{[]byte("line\n")}
	hash := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 32))
	for name, p := range map[string]Inclusion{
		"an index below the log":        {Index: -1, Hashes: []string{hash}},
		"an index behind the log":       {Index: 2, Hashes: []string{hash}},
		"a hash too few":                {Index: 0},
		"a hash too many":               {Index: 0, Hashes: []string{hash, hash}},
		"a hash that is short":          {Index: 0, Hashes: []string{hash[:40]}},
		"a hash in another right form":  {Index: 0, Hashes: []string{hash[:42] + "F="}},
		"more hashes than any tree has": {Index: 0, Hashes: make([]string, 1000)},
	} {
		_, err := p.Root(2, line)
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), name)
	}
	_, err := (&Inclusion{Index: 1 << 61, Hashes: []string{hash}}).Root(1<<62, line)
	require.Error(t, err)
	_, err = (&Inclusion{}).Root(1, nil)
	require.Error(t, err)
}
