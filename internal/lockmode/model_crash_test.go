package lockmode_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
)

// crash ends the service between commit and answer. The caller gets the answer that the
// outcome is unknown, and the next instance settles it.
func (w *world) crash(rt *rapid.T) {
	r := w.request(rt)
	if _, known := w.model.draws[r.DrawID]; known || w.model.state != draw.StateOpen || w.model.remaining() < int64(r.Count) {
		return // nothing would be written
	}
	committed := rapid.Bool().Draw(rt, "committed")
	dying := &dying{committed: committed}
	dead := w.arena.serve(w.t, 0, func(s *settings) {
		s.Mode, s.Budget, s.Settle = lockmode.ForUpdate, 0, modelSettle
		dying.Store = s.Store
		s.Store = dying
	})
	_, err := dead.Draw(w.t.Context(), r)
	if !dying.inDoubt.Load() { // on a busy machine, the time may end before the commit
		require.Equal(rt, draw.CodeStoreUnavailable, draw.CodeOf(err), "%v", err)
		return
	}
	require.Equal(rt, draw.CodeOutcomeUnknown, draw.CodeOf(err), "%v", err)
	w.restart(rt)
	d, err := w.service.Draw(w.t.Context(), r)
	require.NoError(rt, err)
	if dying.cut.Load() { // otherwise the time ended during the commit, which may have happened or not
		require.Equal(rt, committed, d.Replayed)
	}
	d.Replayed = false
	w.won(rt, r, d)
}

// modelSettle is how long a dying instance tries to settle draws whose result it lost.
const modelSettle = 50 * time.Millisecond

// dying is a store that fails after its first write. It commits the write or does not.
type dying struct {
	lockmode.Store
	committed bool
	// down is set with the write. inDoubt is set if its response was lost, and cut is set
	// if this store caused the loss.
	down, inDoubt, cut atomic.Bool
}

func (s *dying) Read(ctx context.Context, urn *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	if s.down.Load() {
		return nil, &stock.Error{Class: stock.ClassUnavailable, Reason: "connection", Err: errCut}
	}
	tx, err := s.Store.Read(ctx, urn, o)
	if err != nil {
		return nil, err
	}
	return &tamperedTx{tx, s.die}, nil
}

func (s *dying) Write(ctx context.Context, p *urn.Plan, o stock.TxOptions) error {
	if s.down.Load() {
		return &stock.Error{Class: stock.ClassUnavailable, Reason: "connection", Err: errCut}
	}
	return s.die(ctx, &cachedTx{store: s.Store, options: o}, p)
}

func (s *dying) die(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
	s.down.Store(true)
	lost := commitLost
	if s.committed {
		lost = answerLost
	}
	err := lost(ctx, tx, p)
	s.inDoubt.Store(stock.ClassOf(err) == stock.ClassUnknown)
	s.cut.Store(errors.Is(err, errCut))
	return err
}
