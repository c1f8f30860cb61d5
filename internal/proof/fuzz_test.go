package proof

import (
	"bytes"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// FuzzParseLine: a line that is accepted has the same bytes when it is written again.
func FuzzParseLine(f *testing.F) {
	for _, line := range []string{
		`{"v":1,"at":"2026-03-04T04:06:07.000890Z","kind":"created"}`,
		`{"v":2,"at":"2026-03-04T04:06:07.000890Z","kind":"rules","document":{"win":"1/2","fallback":"none"}}`,
		`{"v":7,"at":"2026-03-04T04:06:07.000890Z","kind":"stock","prize":"gold","delta":-3,"reason":"<&> é","salt":"V1DZb5-2lRII4pPAKMFIQQ"}`,
		`{"v":9,"at":"2026-03-04T04:06:07.000890Z","kind":"award","prize":"gold","unit":1,"draw":"V1DZb5-2lRII4pPAKMFIQQ","n":1,"of":1,"user":"xqs5X0LPV76Fx9bl-3FBHg","drawn":null,"why":"limit"}`,
	} {
		f.Add([]byte(line + "\n"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if l, err := ParseLine(b); err == nil {
			require.Equal(t, string(b), string(l.Append(nil)))
		}
	})
}

// FuzzVerify: whatever the files contain, the verifier returns a report. It never accepts
// files that no key has signed.
func FuzzVerify(f *testing.F) {
	f.Add([]byte("a+00000000+AAAA\n"), []byte("drawsvc commitment v1\n\n— a AAAA\n"), []byte("a\n1\nAAAA\n\n— a AAAA\n"), []byte("1 00\n"))
	f.Fuzz(func(t *testing.T, key, commitment, checkpoints, reveal []byte) {
		files := fstest.MapFS{
			"key": {Data: key}, "commitment": {Data: commitment}, "checkpoints": {Data: checkpoints}, "checkpoint": {Data: checkpoints},
			"reveal": {Data: reveal}, "log.jsonl": {Data: []byte("{}\n")},
		}
		r, err := Verify(files, VerifyOptions{})
		require.NoError(t, err)
		require.False(t, r.OK)
	})
}

// FuzzNotes: a note, checkpoint, commitment, key or reveal that is accepted has the same
// bytes when it is written again. So no part of it can be changed unnoticed.
func FuzzNotes(f *testing.F) {
	signer, key, err := NewKey(worldOrigin)
	require.NoError(f, err)
	verifier, err := Verifier(key)
	require.NoError(f, err)
	checkpoint := &Checkpoint{Origin: worldOrigin, Size: 7}
	commitment := &Commitment{Origin: worldOrigin, Epochs: 3, EpochLength: 4, Size: 5}
	for _, text := range []string{checkpoint.Text(), commitment.Text(), Reveal(Seed{1}, 2)} {
		f.Add([]byte(text))
		signed, err := Sign(text, signer)
		require.NoError(f, err)
		f.Add(signed)
		f.Add(JoinNotes([][]byte{signed, signed}))
	}
	f.Add([]byte(key))
	f.Fuzz(func(t *testing.T, b []byte) {
		if text, err := Open(b, verifier); err == nil {
			require.True(t, bytes.HasPrefix(b, []byte(text+"\n")))
		}
		if c, err := ParseCheckpoint(string(b)); err == nil {
			require.Equal(t, string(b), c.Text())
		}
		if c, err := ParseCommitment(string(b)); err == nil {
			require.Equal(t, string(b), c.Text())
		}
		if seed, place, err := ParseReveal(string(b)); err == nil {
			require.Equal(t, string(b), Reveal(seed, place))
		}
		var notes [][]byte
		var failed error
		for note, err := range SplitNotes(bytes.NewReader(b)) {
			notes, failed = append(notes, bytes.Clone(note)), err
		}
		if failed == nil {
			require.Equal(t, string(b), string(JoinNotes(notes)))
		}
		_, _ = Verifier(string(b)) // it must not panic
	})
}
