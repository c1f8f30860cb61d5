// Package witnesstest provides a witness for tests: a real server on loopback. It cosigns
// checkpoints that are consistent with those that it has cosigned, and refuses all
// others.
package witnesstest

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	cosigned "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"drawsvc/internal/proof"
)

// Witness is a server of c2sp.org/tlog-witness.
type Witness struct {
	// URL is the prefix of its calls, Key its verifier key.
	URL, Key string
	// Away, while set, makes it answer 503. Lose makes it cosign and then answer 503.
	Away, Lose atomic.Bool
	// Asked counts the calls.
	Asked atomic.Int64

	signer note.Signer
	logs   map[string]note.Verifier
	mu     sync.Mutex
	seen   map[string]tlog.Tree
}

// Start starts a witness of the logs with these verifier keys.
func Start(tb testing.TB, keys ...string) *Witness {
	tb.Helper()
	w := &Witness{logs: map[string]note.Verifier{}, seen: map[string]tlog.Tree{}}
	secret, public, err := note.GenerateKey(rand.Reader, "witness.example/w")
	require.NoError(tb, err)
	w.signer, err = cosigned.NewSignerForCosignatureV1(secret)
	require.NoError(tb, err)
	w.Key, err = cosigned.VKeyToCosignatureV1(public)
	require.NoError(tb, err)
	for _, key := range keys {
		v, err := note.NewVerifier(strings.TrimSpace(key))
		require.NoError(tb, err)
		w.logs[v.Name()] = v
	}
	server := httptest.NewServer(http.HandlerFunc(w.serve))
	tb.Cleanup(server.Close)
	w.URL = server.URL
	return w
}

// Flag returns the witness as a value of --witness.
func (w *Witness) Flag() string { return w.URL + "/=" + w.Key }

// Size returns the number of entries of a log that it has cosigned.
func (w *Witness) Size(origin string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[origin].N
}

func (w *Witness) serve(out http.ResponseWriter, r *http.Request) {
	w.Asked.Add(1)
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/add-checkpoint" || w.Away.Load() {
		out.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	status, answer := w.add(body)
	if w.Lose.Load() {
		status = http.StatusServiceUnavailable
	}
	out.WriteHeader(status)
	_, _ = out.Write(answer)
}

// add cosigns a checkpoint if its log is known and it is consistent with the last
// cosigned checkpoint.
func (w *Witness) add(body []byte) (status int, answer []byte) {
	head, signed, _ := bytes.Cut(body, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	var old int64
	if _, err := fmt.Sscanf(lines[0], "old %d", &old); err != nil {
		return http.StatusBadRequest, nil
	}
	var steps tlog.TreeProof
	for _, line := range lines[1:] {
		h, err := base64.StdEncoding.DecodeString(line)
		if err != nil || len(h) != tlog.HashSize {
			return http.StatusBadRequest, nil
		}
		steps = append(steps, tlog.Hash(h))
	}
	origin, _, _ := strings.Cut(string(signed), "\n")
	if w.logs[origin] == nil {
		return http.StatusNotFound, nil
	}
	text, err := proof.Open(signed, w.logs[origin])
	if err != nil {
		return http.StatusForbidden, nil
	}
	c, err := proof.ParseCheckpoint(text)
	if err != nil || old > c.Size {
		return http.StatusBadRequest, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen[origin]
	switch {
	case old != seen.N, old == c.Size && seen.Hash != c.Root:
		return http.StatusConflict, fmt.Appendf(nil, "%d\n", seen.N)
	case old > 0 && old < c.Size && tlog.CheckTree(steps, c.Size, c.Root, old, seen.Hash) != nil, (old == 0 || old == c.Size) && len(steps) > 0:
		return http.StatusUnprocessableEntity, nil
	}
	w.seen[origin] = tlog.Tree{N: c.Size, Hash: c.Root}
	again, err := note.Sign(&note.Note{Text: text}, w.signer)
	if err != nil {
		return http.StatusInternalServerError, nil
	}
	return http.StatusOK, proof.Signatures(again)
}
