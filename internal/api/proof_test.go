package api

import (
	"archive/zip"
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// archiveOf returns an archive of files, each given by its name and content.
func archiveOf(t *testing.T, files ...[2]string) []byte {
	t.Helper()
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for _, f := range files {
		w, err := archive.Create(f[0])
		require.NoError(t, err)
		_, err = io.WriteString(w, f[1])
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	return b.Bytes()
}

// proofFiles returns the files of a pool with content, except one.
func proofFiles(without string) (files [][2]string) {
	for _, name := range archiveNames() {
		if name != without {
			files = append(files, [2]string{name, "the " + name})
		}
	}
	return files
}

// TestExportProofIncomplete: if a file of the pool is missing in an archive, or empty,
// nothing is written. Only the file of the seed may be missing. The broken double unpacks
// each file as soon as it arrives.
func TestExportProofIncomplete(t *testing.T) {
	t.Parallel()
	var created []string
	create := func(name string) (io.Writer, error) {
		created = append(created, name)
		return io.Discard, nil
	}
	unpackUnchecked := func(from io.ReaderAt, size int64) error {
		archive, err := zip.NewReader(from, size)
		require.NoError(t, err)
		return unpackFiles(archive.File, size*packedMax, create)
	}
	for _, missing := range []string{"log.jsonl", "commitment", "key", "checkpoints", "checkpoint"} {
		without := archiveOf(t, proofFiles(missing)...)
		empty := archiveOf(t, append(proofFiles(missing), [2]string{missing})...)
		for _, archive := range [][]byte{without, empty, archiveOf(t, [2]string{"key", "k"}), archiveOf(t)} {
			created = nil
			err := unpackAll(bytes.NewReader(archive), int64(len(archive)), create)
			require.ErrorContains(t, err, "the archive is incomplete: it has no ")
			require.Empty(t, created)
			require.NoError(t, unpackUnchecked(bytes.NewReader(archive), int64(len(archive))), "the double")
		}
		require.ErrorContains(t, unpackAll(bytes.NewReader(without), int64(len(without)), create), missing)
	}
	created = nil
	unrevealed := archiveOf(t, proofFiles("reveal")...)
	require.NoError(t, unpackAll(bytes.NewReader(unrevealed), int64(len(unrevealed)), create))
	require.Len(t, slices.Compact(created), len(archiveNames())-1)
}
