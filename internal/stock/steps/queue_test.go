package steps

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

const (
	waitMax = 10 * time.Second
	tick    = time.Millisecond
)

// writer is the transaction of a test, which waits until it is released.
type writer struct {
	began, release chan struct{}
	batches        [][]string
	panics         bool
}

func (w *writer) write(_ string, all []*claim) {
	var ids []string
	for _, c := range all {
		ids = append(ids, c.d.ID)
	}
	w.batches = append(w.batches, ids)
	w.began <- struct{}{}
	<-w.release
	if w.panics {
		w.panics = false
		panic("a test")
	}
	for _, c := range all {
		if c.d.ID == "refused" {
			c.err = errors.New("refused")
		}
	}
}

func newWriter() *writer {
	return &writer{began: make(chan struct{}, 10), release: make(chan struct{}, 10)}
}

// arrive adds claims, which wait in their order. After all of them have ended, it returns
// the answer to each.
func arrive(t *testing.T, q *queue, w *writer, ctx context.Context, ids ...string) (answers map[string][]error, wait func()) { //nolint:revive // t comes first
	t.Helper()
	answers = map[string][]error{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i, id := range ids {
		c := &claim{ctx: ctx, d: draw.Draw{PoolID: "p", ID: id}, done: make(chan struct{})}
		all.Go(func() {
			_, err := q.wait(c, w.write)
			mu.Lock()
			defer mu.Unlock()
			answers[id] = append(answers[id], err)
		})
		if i == 0 {
			<-w.began
			continue
		}
		require.Eventually(t, func() bool { return len(waiting(q)["p"]) == i }, waitMax, tick)
	}
	return answers, all.Wait
}

func waiting(q *queue) map[string][]*claim {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.waiting)
}

// requireEnd requires that the goroutine ends, and that nothing is left.
func requireEnd(t *testing.T, q *queue) {
	t.Helper()
	require.Eventually(t, func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return !q.isWriting && len(q.waiting) == 0 && len(q.pools) == 0
	}, waitMax, tick)
}

// TestClaimsShareATransaction: claims that arrive while another one is written are written
// together, each draw once, and each has its own answer.
func TestClaimsShareATransaction(t *testing.T) {
	q, w := newQueue(slog.New(slog.DiscardHandler)), newWriter()
	answers, wait := arrive(t, q, w, t.Context(), "a", "b", "refused", "c", "b")
	for range 3 {
		w.release <- struct{}{}
	}
	wait()
	require.Equal(t, [][]string{{"a"}, {"b", "refused", "c"}, {"b"}}, w.batches)
	require.Equal(t, map[string][]error{"a": {nil}, "b": {nil, nil}, "c": {nil}, "refused": {errors.New("refused")}}, answers)
	requireEnd(t, q)
}

// TestTransactionOfClaimsIsBounded: no transaction has more claims than it may have.
func TestTransactionOfClaimsIsBounded(t *testing.T) {
	q, w := newQueue(slog.New(slog.DiscardHandler)), newWriter()
	ids := []string{"first"}
	for i := range claimsMax + 1 {
		ids = append(ids, fmt.Sprint(i))
	}
	_, wait := arrive(t, q, w, t.Context(), ids...)
	for range 3 {
		w.release <- struct{}{}
	}
	wait()
	require.Len(t, w.batches, 3)
	require.Len(t, w.batches[1], claimsMax)
}

// TestClaimThatIsLeft: a caller that leaves while its claim waits gets an error which
// says that nothing happened, and the claim is not written. If the claim is already being
// written, its outcome is unknown.
func TestClaimThatIsLeft(t *testing.T) {
	q, w := newQueue(slog.New(slog.DiscardHandler)), newWriter()
	ctx, leave := context.WithCancel(t.Context())
	answers, wait := arrive(t, q, w, ctx, "written", "waits")
	leave()
	wait()
	require.Equal(t, draw.CodeOutcomeUnknown, draw.CodeOf(answers["written"][0]))
	require.Equal(t, draw.CodeContended, draw.CodeOf(answers["waits"][0]))
	w.release <- struct{}{}
	requireEnd(t, q)
	require.Equal(t, [][]string{{"written"}}, w.batches)
}

// TestPanicOfAClaim: a panic becomes the error of all claims of its transaction, and
// later claims are still written.
func TestPanicOfAClaim(t *testing.T) {
	q, w := newQueue(slog.New(slog.DiscardHandler)), newWriter()
	w.panics = true
	answers, wait := arrive(t, q, w, t.Context(), "a", "b")
	w.release <- struct{}{}
	w.release <- struct{}{}
	wait()
	require.Equal(t, draw.CodeInternal, draw.CodeOf(answers["a"][0]))
	require.NoError(t, answers["b"][0])
}
