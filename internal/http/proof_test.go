package http

import (
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

func (f fakeStore) CommitPool(_ context.Context, w Commit) ([]byte, error) {
	return []byte("note of " + w.Host + "\n"), f.note(w)
}

func (f fakeStore) AcceptClock(context.Context) (time.Duration, error) {
	return 40 * 24 * time.Hour, f.note([2]string{"the clock", "is accepted"})
}

func (f fakeStore) KeepCheckpoint(_ context.Context, poolID string, note []byte) error {
	return f.note([2]string{poolID, string(note)})
}

func (f fakeStore) SkipVersions(_ context.Context, poolID string, to int64, reason, actor string) (int64, error) {
	return 200, f.note([]any{poolID, to, reason, actor})
}

func (f fakeStore) Reveal(_ context.Context, poolID string) ([]byte, error) {
	return []byte("2 abcd\n"), f.note([2]string{poolID, "reveal"})
}

func (f fakeStore) Published(_ context.Context, poolID, file string) ([]byte, error) {
	return []byte("the " + file + "\n"), f.note([2]string{poolID, file})
}

func (f fakeStore) WriteProofLog(_ context.Context, poolID string, w io.Writer, begin func()) error {
	begin()
	_, err := io.WriteString(w, "{}\n")
	return firstError(f.note([2]string{poolID, "log"}), err)
}

// contentOf returns the content of a pool's file in the fake.
func contentOf(name string) string {
	if name == api.ZonesFile {
		return "2025c\n"
	}
	return "the " + name + "\n"
}

func (f fakeStore) ExportProof(_ context.Context, poolID string, create func(string) (io.Writer, error)) error {
	if err := f.note([2]string{poolID, "proof"}); err != nil {
		return err
	}
	for _, name := range api.ProofFiles() {
		w, err := create(name)
		if err == nil {
			_, err = io.WriteString(w, contentOf(name))
		}
		if err != nil {
			return err
		}
	}
	return f.broken
}

func (f fakeStore) EraseUser(_ context.Context, poolID, user, actor string) (int64, error) {
	return 2, f.note([3]string{poolID, user, actor})
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (f fakeStore) Commitment(_ context.Context, poolID string) (Commitment, error) {
	return Commitment{
		Version: 5, Origin: "host/" + poolID, Note: []byte("the note\n"), Key: []byte("the key\n"), Checkpoint: []byte("the checkpoint\n"), Reveal: []byte("2 abcd\n"),
		Epochs: 256, EpochLength: 7, Beacon: "quicknet", RoundsURL: "https://beacon.example/public/", StockWhileOpen: true, Receipts: true,
		Opened: draw.Round{Number: 1000, Signature: "b446"}, SaltsErased: true, SeedsAway: true,
	}, f.note([2]string{poolID, "what it is committed to"})
}

// TestCommitmentAnswer: members that do not exist yet are null, and the level without a
// beacon is the lower one.
func TestCommitmentAnswer(t *testing.T) {
	c := Commitment{Version: 5, Origin: "host/p", Note: []byte("n\n"), Key: []byte("k\n"), Epochs: 2, EpochLength: 7, Beacon: "none"}
	got, err := json.Marshal(newCommitment(&c))
	require.NoError(t, err)
	require.JSONEq(t, `{"version":5,"level":"committed","origin":"host/p","note":"n\n","key":"k\n","epochs":2,"epoch_length":7,"beacon":"none","rounds_url":null,
		"stock_while_open":false,"receipts":false,"opened":null,"checkpoint":null,"reveal":null,"salts_erased":false,"seeds":"available"}`, string(got))
}

// TestProofAnswers pins the bytes of every call about proofs, and the requests that
// reach the store.
func TestProofAnswers(t *testing.T) {
	for _, tc := range []struct {
		method, target, body, contentType, answer string
		status                                    int
		asked                                     any
	}{
		{
			"POST", "/admin/pools/p/commitment", `{}`, typeText, "note of example.com\n", 201,
			Commit{PoolID: "p", Host: "example.com", Epochs: 256, EpochLength: 1 << 20, Actor: "admin"},
		},
		{
			"POST", "/admin/pools/p/commitment", `{"beacon":"quicknet","epochs":3,"epoch_length":7,"stock_while_open":true}`, typeText, "note of example.com\n", 201,
			Commit{PoolID: "p", Host: "example.com", Epochs: 3, EpochLength: 7, Beacon: "quicknet", StockWhileOpen: true, Actor: "admin"},
		},
		{
			"GET", "/admin/pools/p/commitment", "", typeJSON,
			`{"version":5,"level":"beacon","origin":"host/p","note":"the note\n","key":"the key\n","epochs":256,"epoch_length":7,"beacon":"quicknet",` +
				`"rounds_url":"https://beacon.example/public/","stock_while_open":true,"receipts":true,"opened":{"round":1000,"signature":"b446"},` +
				`"checkpoint":"the checkpoint\n","reveal":"2 abcd\n","salts_erased":true,"seeds":"unavailable"}` + "\n",
			200, [2]string{"p", "what it is committed to"},
		},
		{
			"POST", "/admin/pools/p/commitment", `{"origin":"draws.example.org"}`, typeText, "note of example.com\n", 201,
			Commit{PoolID: "p", Origin: "draws.example.org", Host: "example.com", Epochs: 256, EpochLength: 1 << 20, Actor: "admin"},
		},
		{"DELETE", "/admin/pools/p/users/a%40b", "", typeJSON, `{"pool":"p","awards":2}` + "\n", 200, [3]string{"p", "a@b", "admin"}},
		{
			"POST", "/admin/pools/p/skip", `{"to":4711,"reason":"restored"}`, typeJSON, `{"pool":"p","skipped":200}` + "\n", 200,
			[]any{"p", int64(4711), "restored", "admin"},
		},
		{"POST", "/admin/clock", `{"accept":true}`, typeJSON, `{"leapt_seconds":3456000}` + "\n", 200, [2]string{"the clock", "is accepted"}},
		{"POST", "/admin/pools/p/reveal", "", typeText, "2 abcd\n", 200, [2]string{"p", "reveal"}},
		{"GET", "/pools/p/proof/commitment", "", typeText, "the commitment\n", 200, [2]string{"p", "commitment"}},
		{"GET", "/pools/p/proof/key", "", typeText, "the key\n", 200, [2]string{"p", "key"}},
		{"GET", "/pools/p/proof/checkpoint", "", typeText, "the checkpoint\n", 200, [2]string{"p", "checkpoint"}},
		{"GET", "/pools/p/proof/reveal", "", typeText, "the reveal\n", 200, [2]string{"p", "reveal"}},
		{"GET", "/pools/p/proof/log", "", typeNDJSON, "{}\n", 200, [2]string{"p", "log"}},
	} {
		t.Run(tc.method+" "+tc.target, func(t *testing.T) {
			f := &fake{}
			w := do(newServer(t, f), asAdmin(tc.method, tc.target, tc.body))
			require.Equal(t, tc.status, w.Code, w.Body)
			require.Equal(t, tc.answer, w.Body.String())
			require.Equal(t, tc.contentType, w.Header().Get("Content-Type"))
			require.Equal(t, tc.asked, f.last())
		})
	}
}

// TestCommitOverTheWire: all parameters of a commitment reach the service, because a
// pool is committed only once.
func TestCommitOverTheWire(t *testing.T) {
	t.Parallel()
	f := &fake{}
	server := httptest.NewServer(newServer(t, f).Handler())
	defer server.Close()
	wanted := Commit{PoolID: "p", Origin: "draws.example.org", Epochs: 3, EpochLength: 7, Beacon: "quicknet", StockWhileOpen: true, Receipts: true}
	_, err := adminOf(server).CommitPool(t.Context(), "p", &api.NewCommitment{
		Origin: wanted.Origin, Epochs: &wanted.Epochs, EpochLength: &wanted.EpochLength, Beacon: wanted.Beacon, StockWhileOpen: true, Receipts: true,
	})
	require.NoError(t, err)
	wanted.Host, wanted.Actor = server.Listener.Addr().String(), "admin"
	require.Equal(t, wanted, f.last())
}

// TestProofProblems: each unavailable file gets a problem with its own code.
func TestProofProblems(t *testing.T) {
	for _, tc := range []struct {
		method, target, body string
		err                  error
		status               int
	}{
		{"POST", "/admin/pools/p/commitment", `{"beacon":1}`, nil, 400},
		{"POST", "/admin/pools/p/commitment", `{"beacon":"fastnet"}`, draw.Errorf(draw.CodeInvalidRequest, "no such beacon"), 400},
		{"PATCH", "/admin/pools/p", `{"state":"open","round":7}`, nil, 400},
		{"PATCH", "/admin/pools/p", `{"state":"open","signature":"00"}`, nil, 400},
		{"PATCH", "/admin/pools/p", `{"state":"paused","round":7,"signature":"00"}`, nil, 400},
		{"PATCH", "/admin/pools/p", `{"name":"P","round":7,"signature":"00"}`, nil, 400},
		{"PATCH", "/admin/pools/p", `{"state":"open","round":7,"signature":"00"}`, draw.Errorf(draw.CodeRoundNotAnnounced, "8 is"), 409},
		{"POST", "/admin/pools/p/prizes", `{"id":"a","name":"A"}`, draw.Errorf(draw.CodePoolOpen, "it is"), 409},
		{"PATCH", "/admin/pools/p/prizes/a", `{"value":"2"}`, draw.Errorf(draw.CodePoolOpen, "it is"), 409},
		{"POST", "/admin/pools/p/prizes/a/stock", `{"delta":1,"reason":"r"}`, draw.Errorf(draw.CodePoolOpen, "it is"), 409},
		{"PUT", "/admin/pools/p/rules", `{}`, draw.Errorf(draw.CodePoolOpen, "it is"), 409},
		{"DELETE", "/admin/pools/p/rules", "", draw.Errorf(draw.CodePoolOpen, "it is"), 409},
		{"POST", "/admin/pools/p/commitment", `{"recipients":"x"}`, nil, 400},
		{"POST", "/admin/pools/p/commitment", `{}`, draw.Errorf(draw.CodePoolCommitted, "it is"), 409},
		{"POST", "/admin/pools/p/commitment", `{}`, draw.Errorf(draw.CodePoolOpen, "it is"), 409},
		{"POST", "/admin/pools/p/skip", `{"to":9}`, draw.Errorf(draw.CodePoolOpen, "it is"), 409},
		{"POST", "/admin/pools/p/skip", `{"to":9}`, draw.Errorf(draw.CodePoolClosed, "it is"), 409},
		{"POST", "/admin/pools/p/skip", `{"to":9}`, draw.Errorf(draw.CodeNotFound, "it is secret"), 404},
		{"POST", "/admin/pools/p/reveal", "", draw.Errorf(draw.CodePoolOpen, "it is"), 409},
		{"POST", "/admin/pools/p/reveal", "", draw.Errorf(draw.CodeSeedUnavailable, "it is"), 503},
		{"POST", "/admin/pools/p/reveal", "", draw.Errorf(draw.CodeLogForked, "it is"), 409},
		{"POST", "/admin/pools/p/proof", "", draw.Errorf(draw.CodeLogForked, "it is"), 409},
		{"POST", "/admin/pools/p/proof", "", draw.Errorf(draw.CodeNotFound, "secret"), 404},
		{"DELETE", "/admin/pools/p/users/u", "", draw.Errorf(draw.CodePoolOpen, "it is"), 409},
		{"DELETE", "/admin/pools/p/users/%20", "", nil, 400},
		{"GET", "/pools/p/proof/log", "", draw.Errorf(draw.CodeNotFound, "not yet"), 404},
		{"GET", "/admin/pools/p/commitment", "", draw.Errorf(draw.CodeNotFound, "secret"), 404},
		{"GET", "/pools/p/proof/key", "", draw.Errorf(draw.CodeNotFound, "secret"), 404},
		{"POST", "/draw", `{"pool":"p","user":"u"}`, draw.Errorf(draw.CodeSeedsSpent, "all"), 409},
		{"POST", "/draw", `{"pool":"p","user":"u"}`, draw.Errorf(draw.CodeSeedUnavailable, "away"), 503},
	} {
		w := do(newServer(t, &fake{err: tc.err}), asAdmin(tc.method, tc.target, tc.body))
		p := problemIn(t, w.Result())
		require.Equal(t, tc.status, p.Status, "%s: %s", tc.target, p.Detail)
		if tc.err != nil {
			require.Equal(t, string(draw.CodeOf(tc.err)), p.Code)
		}
	}
}

// TestReadyWithoutSeeds: an instance that cannot unseal a pool's seed draws from all
// other pools, so it is ready, and reports it.
func TestReadyWithoutSeeds(t *testing.T) {
	w := do(newServer(t, &fake{rulesUnreadable: true}), request("GET", "/readyz", ""))
	require.JSONEq(t, `{"status":"ready","rules":"unreadable"}`, w.Body.String())
	w = do(newServer(t, &fake{seedsAway: true}), request("GET", "/readyz", ""))
	require.Equal(t, 200, w.Code)
	require.JSONEq(t, `{"status":"ready","seeds":"unavailable"}`, w.Body.String())
	require.JSONEq(t, `{"status":"ready"}`, do(newServer(t, &fake{}), request("GET", "/readyz", "")).Body.String())
}

// TestTokensOfALaterRelease: if entries of the token file are ignored, the service is
// ready and reports it.
func TestTokensOfALaterRelease(t *testing.T) {
	s := newServer(t, &fake{})
	require.JSONEq(t, `{"status":"ready"}`, do(s, request("GET", "/readyz", "")).Body.String())
	s.Tokens.Set().Unread = []string{`entry 1 ("packer") is of a later release`}
	w := do(s, request("GET", "/readyz", ""))
	require.Equal(t, 200, w.Code)
	require.JSONEq(t, `{"status":"ready","tokens":"unreadable"}`, w.Body.String())
}
