package http

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
)

const someReceipt = `{"note":"host/p/receipt\nline\n\n— host/p AAAA\n","salt":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",` +
	`"user_salt":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`

// together names a draw whose receipt was signed together with others.
const together = "together"

const someBatched = `{"text":"host/p/receipt\nline\n","batch":{"note":"host/p/receipts\n2\nAAAA\n\n— host/p AAAA\n","index":0,` +
	`"hashes":["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]},"salt":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",` +
	`"user_salt":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`

func (f fakeStore) Receipt(_ context.Context, d *draw.Draw) (draw.Receipt, error) {
	if d.ID == together {
		return draw.EncodedReceipt(someBatched), nil
	}
	return draw.EncodedReceipt(someReceipt), firstError(f.unsigned, f.note([2]string{d.PoolID, "receipt of " + d.ID}))
}

func (f fakeStore) DrawReceipt(ctx context.Context, poolID, drawID string) (receipt, proof []byte, err error) {
	if f.proving != nil {
		select {
		case <-f.proving:
		case <-ctx.Done():
		}
	}
	if drawID == "covered" {
		proof = []byte(`{"checkpoint":"host/p\n3\n","index":2,"hashes":["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]}`)
	}
	return []byte(someReceipt), proof, f.note([2]string{poolID, "receipt of " + drawID})
}

// TestReceiptAnswers pins the bytes of answers with a receipt, and that an answer
// without one has not changed.
func TestReceiptAnswers(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	ask := func(body string) string {
		w := do(s, asAdmin("POST", "/draw", body, "Idempotency-Key", "d"))
		require.Equal(t, 200, w.Code, w.Body)
		return w.Body.String()
	}
	plain := ask(`{"pool":"p","user":"u"}`)
	require.Equal(t, draw.Request{PoolID: "p", UserID: "u", Count: 1, DrawID: "d", Named: true}, f.last(), "nobody is asked about receipts")
	require.Equal(t, plain, ask(`{"pool":"p","user":"u","receipt":false}`))
	require.NotContains(t, plain, "receipt")
	with := ask(`{"pool":"p","user":"u","receipt":true}`)
	require.Equal(t, strings.TrimSuffix(plain, "}\n")+`,"receipt":`+someReceipt+"}\n", with)
	require.Equal(t, [2]string{"p", "receipt of d"}, f.last())
	f.drawn = func(_ context.Context, r draw.Request) (draw.Draw, error) {
		require.True(t, r.Receipt)
		return draw.Draw{ID: r.DrawID, PoolID: r.PoolID, UserID: r.UserID, Replayed: true, Awards: []draw.Award{award(r.DrawID, r.UserID)}}, nil
	}
	w := do(s, asAdmin("POST", "/draw", `{"pool":"p","user":"u","receipt":true}`, "Idempotency-Key", "d"))
	require.Equal(t, "true", w.Header().Get("Idempotent-Replayed"))
	require.Equal(t, strings.Replace(with, `"replayed":false`, `"replayed":true`, 1), w.Body.String())

	f.drawn = func(_ context.Context, r draw.Request) (draw.Draw, error) { // the pool answers every draw with a receipt
		return draw.Draw{ID: r.DrawID, PoolID: r.PoolID, UserID: r.UserID, Receipt: true, Awards: []draw.Award{award(r.DrawID, r.UserID)}}, nil
	}
	require.Equal(t, with, ask(`{"pool":"p","user":"u"}`))
	for _, lost := range []draw.Code{draw.CodeInvalidRequest, draw.CodeNotFound, draw.CodeSeedUnavailable, draw.CodeRulesUnreadable, draw.CodeInternal} {
		f.unsigned = draw.Errorf(lost, "nobody can sign it any more")
		require.Equal(t, plain, ask(`{"pool":"p","user":"u"}`), "a known draw is answered")
		if lost != draw.CodeInvalidRequest {
			require.Equal(t, plain, ask(`{"pool":"p","user":"u","receipt":true}`), "also where a receipt was asked for: %s", lost)
		}
	}
	f.unsigned = draw.Errorf(draw.CodeStoreUnavailable, "away")
	w = do(s, asAdmin("POST", "/draw", `{"pool":"p","user":"u"}`, "Idempotency-Key", "d"))
	require.Equal(t, "unknown", problemIn(t, w.Result()).Outcome, "the same key gets both")
	f.unsigned = nil

	w = do(s, asAdmin("GET", "/pools/p/draws/open/receipt", ""))
	require.Equal(t, `{"receipt":`+someReceipt+"}\n", w.Body.String())
	w = do(s, asAdmin("GET", "/pools/p/draws/covered/receipt", ""))
	require.Equal(t, `{"receipt":`+someReceipt+`,"proof":{"checkpoint":"host/p\n3\n","index":2,"hashes":["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]}}`+"\n", w.Body.String())
	require.Equal(t, s.headers.json, w.Header()["Content-Type"])
}

// TestReceiptProblems: a draw that cannot have a receipt is refused. A draw that was
// made stays valid, and a retry with its key gets draw and receipt.
func TestReceiptProblems(t *testing.T) {
	const body = `{"pool":"p","user":"u","receipt":true}`
	for _, tc := range []struct {
		unsigned, err error
		status        int
		outcome       string
	}{
		{err: draw.ErrorNoReceipt("p"), status: 400, outcome: "none"},
		{err: draw.Errorf(draw.CodeSeedUnavailable, "away"), status: 503, outcome: "none"},
		{err: draw.Errorf(draw.CodePoolNotFound, "none"), status: 404, outcome: "none"},
		{err: draw.Errorf(draw.CodeSoldOut, "all"), status: 409, outcome: "none"},
		{unsigned: draw.Errorf(draw.CodeStoreUnavailable, "away"), status: 504, outcome: "unknown"},
		{unsigned: draw.ErrorNoReceipt("p"), status: 400, outcome: "none"},
	} {
		f := &fake{unsigned: tc.unsigned, err: tc.err}
		w := do(newServer(t, f), asAdmin("POST", "/draw", body))
		p := problemIn(t, w.Result())
		require.Equal(t, tc.status, p.Status, p.Detail)
		require.Equal(t, tc.outcome, p.Outcome)
	}
	w := do(newServer(t, &fake{}), asAdmin("POST", "/draw", `{"pool":"p","user":"u","receipt":"yes"}`))
	require.Contains(t, problemIn(t, w.Result()).Detail, `"receipt" must be`)
	for status, err := range map[int]error{
		404: draw.Errorf(draw.CodeNotFound, "secret"), 503: draw.Errorf(draw.CodeSeedUnavailable, "away"),
	} {
		w := do(newServer(t, &fake{err: err}), asAdmin("GET", "/pools/p/draws/d/receipt", ""))
		require.Equal(t, status, problemIn(t, w.Result()).Status)
	}
}

// TestProofsAreBounded: while the maximum number of receipts is being proven, the next
// request waits, and draws continue. A request that times out while it waits is refused.
func TestProofsAreBounded(t *testing.T) {
	f := &fake{proving: make(chan struct{})}
	s := newServer(t, f)
	done := make(chan int)
	const callers = 6
	for range callers {
		go func() { done <- do(s, asAdmin("GET", "/pools/p/draws/d/receipt", "")).Code }()
	}
	require.Eventually(t, func() bool {
		giveBack, isFree := s.bounds.Proofs.Try(gate.RankDraw, 1) // draws are public here
		if isFree {
			giveBack()
		}
		return !isFree
	}, 20*time.Second, time.Millisecond)
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	w := do(s, asAdmin("GET", "/pools/p/draws/d/receipt", "").WithContext(short))
	require.Equal(t, string(draw.CodeOverloaded), problemIn(t, w.Result()).Code)
	require.Equal(t, 200, do(s, asAdmin("POST", "/draw", `{"pool":"p","user":"u","receipt":true}`)).Code)
	close(f.proving)
	for range callers {
		require.Equal(t, 200, <-done)
	}
}
