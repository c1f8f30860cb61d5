package proof

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	cosigned "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

// newWitness returns a witness's signer, from the library of another program, and its
// key.
func newWitness(t *testing.T, name string) (note.Signer, string) {
	secret, public, err := note.GenerateKey(rand.Reader, name)
	require.NoError(t, err)
	signer, err := cosigned.NewSignerForCosignatureV1(secret)
	require.NoError(t, err)
	key, err := cosigned.VKeyToCosignatureV1(public)
	require.NoError(t, err)
	return signer, key
}

// cosign adds the line of a witness to a note.
func cosign(t *testing.T, signed []byte, by note.Signer) []byte {
	text, _, _ := strings.Cut(string(signed), "\n\n")
	own, err := note.Sign(&note.Note{Text: text + "\n"}, by)
	require.NoError(t, err)
	return append(bytes.Clone(signed), Signatures(own)...)
}

// notesOf splits a file into its notes.
func notesOf(t *testing.T, joined []byte) (notes [][]byte) {
	for note, err := range SplitNotes(bytes.NewReader(joined)) {
		require.NoError(t, err)
		notes = append(notes, bytes.Clone(note))
	}
	return notes
}

// cosignAll returns a folder in which a witness has cosigned all checkpoints except the
// one with index but.
func cosignAll(t *testing.T, files fstest.MapFS, by note.Signer, but int) fstest.MapFS {
	files = clone(files)
	notes := notesOf(t, files["checkpoints"].Data)
	for i := range notes {
		if i != but {
			notes[i] = cosign(t, notes[i], by)
		}
	}
	files["checkpoints"].Data, files["checkpoint"].Data = JoinNotes(notes), notes[len(notes)-1]
	return files
}

func parsedWitness(t *testing.T, key string) *Witness {
	w, err := ParseWitness(key)
	require.NoError(t, err)
	require.Equal(t, key, w.Key())
	return w
}

// TestCosignatures: both verifiers require that a given witness has cosigned every
// checkpoint. They ignore signatures of other witnesses, unless the folder names these.
func TestCosignatures(t *testing.T) {
	w := simple(t)
	files := w.publishAll()
	by, key := newWitness(t, "witness.example/w")
	other, foreign := newWitness(t, "other.example")
	good := cosignAll(t, cosignAll(t, files, other, -1), by, -1)
	r := verified(t, good, VerifyOptions{Witnesses: []*Witness{parsedWitness(t, key)}})
	require.True(t, r.OK, r.Detail)
	code, last := secondSays(t, good, "--witness", key, foreign)
	require.Equal(t, 0, code, last)

	_, nobody := newWitness(t, "witness.example/w")
	forged := cosignAll(t, files, by, -1)
	forged["checkpoints"].Data = bytes.Replace(forged["checkpoints"].Data, []byte("— witness.example/w "), []byte("— witness.example/v "), 1)
	for name, c := range map[string]struct {
		files fstest.MapFS
		key   string
	}{
		"none":                    {files, key},
		"not the first":           {cosignAll(t, files, by, 0), key},
		"not the last":            {cosignAll(t, files, by, 1), key},
		"another's":               {cosignAll(t, files, other, -1), key},
		"another key of its name": {good, nobody},
		"under another name":      {forged, key},
	} {
		r := verified(t, c.files, VerifyOptions{Witnesses: []*Witness{parsedWitness(t, c.key)}})
		require.Equal(t, RuleWitness, r.Rule, name)
		code, last := secondSays(t, c.files, "--witness", c.key)
		require.Equal(t, 3, code, name)
		require.Equal(t, fmt.Sprintf("entry 0: witness: %s", r.Detail), last, name)
	}
	require.True(t, verified(t, files, VerifyOptions{}).OK)
	require.True(t, verified(t, forged, VerifyOptions{}).OK)
}

// TestEveryByteOfCosignaturesCounts: both verifiers find a flipped bit in the text that a
// witness of the folder signed, and in the witness's key.
func TestEveryByteOfCosignaturesCounts(t *testing.T) {
	w := newWorld(t)
	w.prize("silver", 9, "5.00")
	w.commit(4, 5)
	w.check()
	by, key := newWitness(t, "witness.example/w")
	files := cosignAll(t, w.publishAll(), by, -1)
	files["witnesses"] = &fstest.MapFile{Data: []byte(key + "\n")}
	o := VerifyOptions{Witnesses: []*Witness{parsedWitness(t, key)}}
	require.True(t, verified(t, files, o).OK)
	for _, name := range []string{"checkpoints", "checkpoint", "witnesses"} {
		for i := range files[name].Data {
			flipped := clone(files)
			flipped[name].Data[i] ^= 1 << (i % 8)
			r := verified(t, flipped, o)
			require.False(t, r.OK, "%s, byte %d", name, i)
			if i%67 == 5 {
				code, last := secondSays(t, flipped, "--witness", key)
				require.Equal(t, 3, code, "%s, byte %d: %s", name, i, last)
			}
		}
	}
}

// TestLiveFolder: with --live, verifiers read the folder of a running publisher up to its
// latest checkpoint.
func TestLiveFolder(t *testing.T) {
	w := simple(t)
	files := w.publishAll()
	notes := notesOf(t, files["checkpoints"].Data)
	by, key := newWitness(t, "witness.example/w")
	files["checkpoint"].Data = notes[0]
	files["checkpoints"].Data = append(bytes.Replace(files["checkpoints"].Data, notes[0], cosign(t, notes[0], by), 1), "\n"...)
	files["log.jsonl"].Data = files["log.jsonl"].Data[:len(files["log.jsonl"].Data)-9]
	require.False(t, verified(t, files, VerifyOptions{}).OK)
	r := verified(t, files, VerifyOptions{Live: true, Witnesses: []*Witness{parsedWitness(t, key)}})
	require.True(t, r.OK, r.Detail)
	require.Less(t, r.Entries, int64(200))
	code, last := secondSays(t, files, "--live", "--witness", key)
	require.Equal(t, 0, code, last)
}

func TestParseWitness(t *testing.T) {
	_, key := newWitness(t, "witness.example/w")
	_, log, err := NewKey(worldOrigin)
	require.NoError(t, err)
	for _, bad := range []string{"", "x", log, key + "=", key + "\n", key[1:], strings.Replace(key, "+", " +", 1), strings.ToUpper(key)} {
		_, err := ParseWitness(bad)
		require.Error(t, err, bad)
		code, _ := second(t, t.TempDir(), "--witness", bad)
		require.Equal(t, 1, code, bad)
	}
}
