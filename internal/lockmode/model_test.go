package lockmode_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
)

// model is the expected content of a pool, in maps.
type model struct {
	state           draw.State
	mode            string
	version         int64
	stocked, issued map[string]int64
	draws           map[string]draw.Draw
	moves           map[string]draw.Move
}

func (m *model) remaining() (n int64) {
	for id := range m.stocked {
		n += m.stocked[id] - m.issued[id]
	}
	return n
}

// isBare reports whether the pool has no units and has issued no units.
func (m *model) isBare() bool {
	for _, n := range m.stocked {
		if n > 0 {
			return false
		}
	}
	return true
}

// world is a model and the real pool.
type world struct {
	t       *testing.T
	arena   *arena
	pool    string
	service *service
	model   model
	// next holds the faults of the next writes, in order.
	next chan apply
}

func newWorld(t *testing.T, rt *rapid.T, a *arena) *world {
	w := &world{t: t, arena: a, next: make(chan apply, 16), model: model{
		state: draw.StateOpen, stocked: map[string]int64{}, issued: map[string]int64{}, draws: map[string]draw.Draw{}, moves: map[string]draw.Move{},
	}}
	stocked := rapid.SliceOfN(rapid.Int64Range(0, 12), 1, 4).Draw(rt, "stocked")
	w.pool = a.pool(t, stocked...)
	w.model.version = 1 + int64(len(stocked))
	for i, n := range stocked {
		w.model.stocked[string(rune('a'+i))] = n
	}
	w.restart(rt)
	return w
}

// restart starts a new instance on the same database: its cache is empty.
func (w *world) restart(rt *rapid.T) {
	mode := rapid.SampledFrom(lockmode.Names()).Draw(rt, "service's mode")
	w.service = w.arena.serve(w.t, 0, func(s *settings) {
		s.Mode = mode
		s.OptimisticBudget = s.Budget // nobody contends here, but the machine may be busy
		s.Store = &tampered{s.Store, func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
			select {
			case fault := <-w.next:
				return fault(ctx, tx, p)
			default:
				return tx.Write(ctx, p)
			}
		}}
	})
}

// ask draws and compares the answer with the model.
func (w *world) ask(rt *rapid.T, r draw.Request) {
	d, err := w.service.Draw(w.t.Context(), r)
	known, isKnown := w.model.draws[r.DrawID]
	switch {
	case isKnown && (known.UserID != r.UserID || len(known.Awards) != r.Count):
		require.Equal(rt, draw.CodeKeyReused, draw.CodeOf(err), "%v", err)
	case isKnown:
		require.NoError(rt, err)
		known.Replayed = true
		requireDraw(rt, known, d)
	case w.model.state != draw.StateOpen, w.model.isBare():
		require.Equal(rt, draw.CodePoolNotOpen, draw.CodeOf(err), "%v", err)
	case w.model.remaining() < int64(r.Count):
		require.Equal(rt, draw.CodeSoldOut, draw.CodeOf(err), "%v", err)
	default:
		require.NoError(rt, err)
		require.False(rt, d.Replayed)
		w.won(rt, r, d)
	}
}

// won adds a new draw to the model: versions and units count up.
func (w *world) won(rt *rapid.T, r draw.Request, d draw.Draw) {
	require.Len(rt, d.Awards, r.Count)
	for i, a := range d.Awards {
		w.model.version++
		w.model.issued[a.PrizeID]++
		require.Equal(rt, w.model.version, a.Version)
		require.Equal(rt, i+1, a.Ordinal)
		require.Equal(rt, w.model.issued[a.PrizeID], a.Unit)
		require.LessOrEqual(rt, a.Unit, w.model.stocked[a.PrizeID])
	}
	w.model.draws[r.DrawID] = d
}

func requireDraw(rt *rapid.T, want, got draw.Draw) {
	require.Equal(rt, want.Replayed, got.Replayed)
	require.Equal(rt, [2]string{want.ID, want.UserID}, [2]string{got.ID, got.UserID})
	require.Len(rt, got.Awards, len(want.Awards))
	for i := range want.Awards {
		a, b := want.Awards[i], got.Awards[i]
		require.True(rt, a.Value.Equal(b.Value))
		require.True(rt, a.At.Equal(b.At))
		a.Value, a.At = b.Value, b.At
		require.Equal(rt, a, b)
	}
}

func (w *world) request(rt *rapid.T) draw.Request {
	return draw.Request{
		PoolID: w.pool, Named: true,
		UserID: rapid.SampledFrom([]string{"ann", "bob"}).Draw(rt, "user"),
		DrawID: fmt.Sprint("k", rapid.IntRange(0, 30).Draw(rt, "key")),
		Count:  rapid.SampledFrom([]int{1, 1, 1, 2, 10}).Draw(rt, "count"),
	}
}

// move stocks or withdraws, and compares the answer with the model.
func (w *world) move(rt *rapid.T) {
	s := draw.Stocking{
		PoolID: w.pool, PrizeID: rapid.SampledFrom([]string{"a", "b", "zz"}).Draw(rt, "prize"), Reason: "model",
		Delta: rapid.Int64Range(-8, 8).Filter(func(n int64) bool { return n != 0 }).Draw(rt, "delta"),
		Key:   rapid.SampledFrom([]string{"", "", "m1", "m2"}).Draw(rt, "move's key"),
	}
	m, err := w.arena.store(0).Stock(w.t.Context(), s, "test")
	w.service.Changed(w.pool) // as the store does if both are one process
	known, isKnown := w.model.moves[s.Key]
	stocked, isPrize := w.model.stocked[s.PrizeID]
	switch {
	case isKnown && (known.PrizeID != s.PrizeID || known.Delta != s.Delta):
		require.Equal(rt, draw.CodeKeyReused, draw.CodeOf(err), "%v", err)
	case isKnown:
		require.NoError(rt, err)
		require.True(rt, m.Replayed)
		require.Equal(rt, known.Version, m.Version)
	case !isPrize:
		require.Equal(rt, draw.CodePrizeNotFound, draw.CodeOf(err), "%v", err)
	case stocked+s.Delta < w.model.issued[s.PrizeID]:
		require.Equal(rt, draw.CodeStockBelowIssued, draw.CodeOf(err), "%v", err)
	default:
		require.NoError(rt, err)
		w.model.version++
		w.model.stocked[s.PrizeID] += s.Delta
		require.Equal(rt, w.model.version, m.Version)
		require.Equal(rt, [2]int64{w.model.stocked[s.PrizeID], w.model.issued[s.PrizeID]}, [2]int64{m.Stocked, m.Issued})
		if s.Key != "" {
			w.model.moves[s.Key] = m
		}
	}
}

// change pauses, opens, or gives the pool another mode.
func (w *world) change(rt *rapid.T) {
	mode := rapid.SampledFrom(append(lockmode.Names(), "")).Draw(rt, "pool's mode")
	state := rapid.SampledFrom([]draw.State{draw.StateOpen, draw.StateOpen, draw.StatePaused}).Draw(rt, "state")
	_, err := w.arena.store(0).ChangePool(w.t.Context(), w.pool, draw.PoolChange{Mode: &mode, State: &state}, "test")
	require.NoError(rt, err)
	if state != w.model.state {
		w.model.version++
	}
	if mode != w.model.mode {
		w.model.version++
	}
	w.model.state, w.model.mode = state, mode
}

// check compares the rows with the model.
func (w *world) check(rt *rapid.T) {
	p, err := w.arena.store(0).Pool(w.t.Context(), w.pool)
	require.NoError(rt, err)
	require.Equal(rt, w.model.version, p.Version)
	for _, prize := range p.Prizes {
		require.Equal(rt, w.model.stocked[prize.ID], prize.Stocked, prize.ID)
		require.Equal(rt, w.model.issued[prize.ID], prize.Issued, prize.ID)
	}
}

// modelRuns is how many sequences are run on a dialect. A server takes longer for each
// than SQLite.
func modelRuns(dialect string) int64 {
	if dialect == "sqlite" {
		return 40
	}
	return 8
}

// TestModel: for any sequence of requests, the pool does what a few maps predict. The
// sequences have draws, retries, stock moves, pauses, changes of mode, instances that
// start and stop, and writes that are lost.
func TestModel(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, cell{mode: lockmode.ForUpdate, dialect: dialect, lock: nobody})
			var passed int64
			failed := false
			rapid.Check(t, func(rt *rapid.T) {
				if passed >= modelRuns(dialect) && !failed {
					return
				}
				finished := false
				defer func() { failed = failed || !finished }() // rapid runs a failed sequence again, each time shorter
				w := newWorld(t, rt, a)
				rt.Repeat(map[string]func(*rapid.T){
					"":        w.check,
					"draw":    func(rt *rapid.T) { w.ask(rt, w.request(rt)) },
					"draw on": func(rt *rapid.T) { w.ask(rt, w.request(rt)) },
					"again": func(rt *rapid.T) {
						if len(w.model.draws) == 0 {
							rt.Skip("nothing was drawn yet")
						}
						id := rapid.SampledFrom(slices.Sorted(maps.Keys(w.model.draws))).Draw(rt, "known key")
						d := w.model.draws[id]
						w.ask(rt, draw.Request{PoolID: w.pool, Named: true, UserID: d.UserID, DrawID: d.ID, Count: len(d.Awards)})
					},
					"draw in trouble": func(rt *rapid.T) {
						w.next <- rapid.SampledFrom([]apply{answerLost, commitLost, outrun, unreached}).Draw(rt, "fault of the write")
						w.ask(rt, w.request(rt))
						for len(w.next) > 0 {
							<-w.next // nothing was written
						}
					},
					"crash":   w.crash,
					"move":    w.move,
					"change":  w.change,
					"restart": w.restart,
				})
				require.NoError(rt, audited(t, a.store(0), w.pool))
				finished = true
				passed++
			})
		})
	}
}
