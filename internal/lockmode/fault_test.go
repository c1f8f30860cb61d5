package lockmode_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// crowd holds one draw between its picks and its write. Meanwhile other draws wait, as
// many as size, so that they are decided together. It returns the pending answers by the
// names of the draws. The held draw is named "held".
func crowd(t *testing.T, s *service, stop *door, poolID string, size int) map[string]<-chan answer {
	t.Helper()
	t.Cleanup(stop.release)
	answers := map[string]<-chan answer{"held": once(t, s, named(poolID, "held"))}
	receive(t, stop.arrived)
	// The queue has room for exactly these draws: once a further draw is refused, all of
	// them are queued.
	all := make(chan answerTo, size+1)
	for i := range size + 1 {
		id := fmt.Sprint("d", i)
		go func() {
			d, err := s.Draw(t.Context(), named(poolID, id))
			all <- answerTo{id, answer{d, err}}
		}()
	}
	full := receive(t, all)
	require.Equal(t, draw.CodeOverloaded, draw.CodeOf(full.err), "%v", full.err)
	to := map[string]chan answer{}
	for i := range size + 1 {
		if id := fmt.Sprint("d", i); id != full.id {
			to[id] = make(chan answer, 1)
			answers[id] = to[id]
		}
	}
	go func() {
		for range size {
			a := <-all
			to[a.id] <- a.answer
		}
	}()
	return answers
}

// answerTo is an answer with the name of its draw.
type answerTo struct {
	id string
	answer
}

// once draws in the background, and accepts any answer.
func once(t *testing.T, s *service, r draw.Request) <-chan answer {
	to := make(chan answer, 1)
	go func() {
		d, err := s.Draw(t.Context(), r)
		to <- answer{d, err}
	}()
	return to
}

// queueOf makes room for the draws of a crowd.
func queueOf(size int) edit { return func(s *settings) { s.QueueMax = size } }

// testAnswerLost: a commit gets no response, or is not made. Each caller of its draws
// still gets one 200, for a new draw.
func testAnswerLost(t *testing.T, a *arena) {
	for name, fault := range map[string]apply{"answer": answerLost, "commit": commitLost} {
		pool := a.pool(t, 50)
		stop := newDoor()
		lostTwice := inTurn(applied, fault, fault, applied, applied)
		s := a.serve(t, 0, applying(stop.then(lostTwice)), queueOf(5))
		answers := crowd(t, s, stop, pool, 5)
		stop.release()
		for id, from := range answers {
			got := receive(t, from)
			require.NoError(t, got.err, "%s lost: %s", name, id)
			require.False(t, got.draw.Replayed, "%s lost: %s has had no answer yet", name, id)
			again := receive(t, ask(t, s, named(pool, id)))
			require.NoError(t, again.err)
			require.True(t, again.draw.Replayed)
			require.NoError(t, sameAwards(got.draw.Awards, again.draw.Awards))
		}
		s.seen.in(func() {
			require.GreaterOrEqual(t, s.seen.settled, 5, "%s lost: draws in doubt that were settled", name)
		})
		require.Equal(t, int64(6), stocktest.NoViolations(t, a.store(0), pool).Prizes[0].Awards)
	}
}

// testBadApple: one draw makes its batch fail, at any moment. It fails alone or not at
// all, and the other draws are granted.
func testBadApple(t *testing.T, a *arena) {
	for name, c := range map[string]struct {
		spoil  apply
		served bool
	}{
		"error before the write": {spoil: func(_ context.Context, tx stock.Tx, _ *urn.Plan) error {
			tx.Rollback()
			return &stock.Error{Class: stock.ClassOther, Reason: "unexpected", Err: errors.New("nobody expected this")}
		}},
		"panic before the write": {spoil: func(context.Context, stock.Tx, *urn.Plan) error { panic("a defect") }},
		"panic after the write": {served: true, spoil: func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
			if err := tx.Write(ctx, p); err != nil {
				return err
			}
			panic("a defect")
		}},
	} {
		pool := a.pool(t, 50)
		stop, bad := newDoor(), atomic.Value{}
		bad.Store("")
		s := a.serve(t, 0, queueOf(5), applying(stop.then(spoiling(&bad, c.spoil))))
		answers := crowd(t, s, stop, pool, 5)
		for id := range answers {
			if id != "held" {
				bad.Store(id)
			}
		}
		stop.release()
		for id, from := range answers {
			got := receive(t, from)
			if id == bad.Load() && !c.served {
				require.Equal(t, draw.CodeInternal, draw.CodeOf(got.err), "%s: %v", name, got.err)
				continue
			}
			require.NoError(t, got.err, "%s: %s beside %s", name, id, bad.Load())
			require.Equal(t, id, got.draw.ID)
		}
		want := int64(5)
		if c.served {
			want = 6
		}
		require.Equal(t, want, stocktest.NoViolations(t, a.store(0), pool).Prizes[0].Awards, name)
		require.NoError(t, receive(t, ask(t, s, named(pool, "later"))).err, name)
	}
}

// spoiling applies plans that contain the bad draw with spoil.
func spoiling(bad *atomic.Value, spoil apply) apply {
	return func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
		for _, award := range p.Awards {
			if award.DrawID == bad.Load() {
				return spoil(ctx, tx, p)
			}
		}
		return tx.Write(ctx, p)
	}
}

// testGivenUp: a caller that leaves while its draw waits has not drawn. A caller that
// leaves while its draw is written can retry, and gets the answer.
func testGivenUp(t *testing.T, a *arena) {
	pool := a.pool(t, 50)
	stop := newDoor()
	t.Cleanup(stop.release)
	s := a.serve(t, 0, applying(stop.then(applied)))
	ctx, leave := context.WithCancel(t.Context())
	under := make(chan answer, 1)
	go func() {
		d, err := s.Draw(ctx, named(pool, "under way"))
		under <- answer{d, err}
	}()
	receive(t, stop.arrived)
	leave()
	require.Equal(t, draw.CodeOutcomeUnknown, draw.CodeOf(receive(t, under).err))
	_, err := s.Draw(ctx, named(pool, "waits"))
	require.Equal(t, draw.CodeContended, draw.CodeOf(err), "%v", err)
	stop.release()
	again := receive(t, ask(t, s, named(pool, "under way")))
	require.NoError(t, again.err)
	require.True(t, again.draw.Replayed)
	drain(t, s.Batcher)
	_, err = a.store(0).Draw(t.Context(), pool, "waits")
	require.Equal(t, draw.CodeDrawNotFound, draw.CodeOf(err), "nothing happened, as was said")
	require.Equal(t, int64(1), stocktest.NoViolations(t, a.store(0), pool).Prizes[0].Awards)
}

// testDrained: an instance is drained during many draws. Every draw that it answered is
// in the log, and no other.
func testDrained(t *testing.T, a *arena) {
	pool := a.pool(t, 1000)
	s := a.serve(t, 0)
	y := storm{services: []*service{s}, poolID: pool, prefix: "d", asked: 300, before: func(i int) {
		if i != 100 {
			return
		}
		if err := s.Drain(t.Context()); err != nil {
			t.Errorf("drain: %v", err)
		}
	}}.run(t)
	require.Positive(t, len(y.refused[draw.CodeDraining]))
	require.Len(t, y.won, 300-len(y.refused[draw.CodeDraining]), "%v", y.codes())
	require.NoError(t, y.asLogged(t, a.store(0), pool))
	stocktest.NoViolations(t, a.store(0), pool)
}
