package proof

import (
	"bytes"
	"io/fs"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// held returns the heap memory that is in use.
func held() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestCheckpointsAreNotKept: the memory of a verification does not grow with the number
// of checkpoints. A week has 600,000 of them.
func TestCheckpointsAreNotKept(t *testing.T) { //nolint:paralleltest // it measures the heap
	const many, most = 10_000, 200_000 // 20 bytes for each checkpoint
	w := newWorld(t)
	w.prize("gold", 9, "19.90")
	w.commit(1, 100)
	w.state(draw.StateOpen)
	one := w.check()
	w.draw("d", "u", 3)
	w.state(draw.StateClosed)
	checks := make([][]byte, many)
	for i := range checks {
		checks[i] = one
	}
	files := w.files(w.log(), checks)
	v := &verifier{files: files, folding: folding{drawn: newNames()}}
	before := held()
	for _, step := range []func() error{v.readKey, v.readCommitment, v.readWitnesses, v.readCheckpoints, v.readReveal, v.readRules} {
		require.NoError(t, step())
	}
	require.Less(t, held()-before, int64(most))
	require.NoError(t, v.readLog())
	require.Less(t, held()-before, int64(most))
	runtime.KeepAlive(v)
	runtime.KeepAlive(files)
}

// swapped is a folder whose checkpoints change after the first reading.
type swapped struct {
	fstest.MapFS
	then  []byte
	reads int
}

func (s *swapped) Open(name string) (fs.File, error) {
	if name == "checkpoints" {
		if s.reads++; s.reads > 1 {
			return fstest.MapFS{name: {Data: s.then}}.Open(name)
		}
	}
	return s.MapFS.Open(name)
}

// TestCheckpointsThatChange: if the file changes after its verification and before its
// comparison with the log, that is found, whatever the file then contains.
func TestCheckpointsThatChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.prize("gold", 9, "19.90")
	w.commit(1, 100)
	w.state(draw.StateOpen)
	first := w.check()
	w.draw("d", "u", 3)
	second := w.check()
	files := w.publishAll()
	all := files["checkpoints"].Data
	last := files["checkpoint"].Data
	for name, then := range map[string][]byte{
		"less": JoinNotes([][]byte{first, last}), "more": JoinNotes([][]byte{first, second, second, last}), "none": {}, "nonsense": []byte("nonsense\n"),
		"cut": bytes.TrimSuffix(all, last),
	} {
		r, err := Verify(&swapped{MapFS: files, then: then}, VerifyOptions{})
		require.NoError(t, err, name)
		require.False(t, r.OK, name)
		require.Equal(t, RuleFile, r.Rule, name)
	}
	r, err := Verify(&swapped{MapFS: files, then: all}, VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.OK, r.Detail)
}
