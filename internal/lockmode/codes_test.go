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
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// coded creates a pool of n units with codes, and returns the lines of their file.
func (a *arena) coded(t *testing.T, n int) (pool string, lines []string) {
	t.Helper()
	pool = a.pool(t)
	_, err := a.store(0).AddPrize(t.Context(), pool, draw.Prize{ID: "card", Name: "Card", HasCodes: true}, "test")
	require.NoError(t, err)
	lines = stocktest.CodeLines(pool, n)
	stocktest.ImportCodes(t, a.store(0), pool, lines)
	return pool, lines
}

// judgeCodes returns what is wrong with the codes of draws: each award has the code of
// its unit's line, and no code occurs twice.
func judgeCodes(lines []string, won map[string]draw.Draw) error {
	seen := map[string]bool{}
	for _, d := range won {
		for _, a := range d.Awards {
			switch {
			case a.Unit < 1 || int(a.Unit) > len(lines):
				return fmt.Errorf("draw %s has unit %d of %d", d.ID, a.Unit, len(lines))
			case a.Code != lines[a.Unit-1]:
				return fmt.Errorf("unit %d has another code than that of its line", a.Unit)
			case seen[a.Code]:
				return fmt.Errorf("the code of unit %d was given twice", a.Unit)
			}
			seen[a.Code] = true
		}
	}
	return nil
}

// testCodes: three services give each code once, with its own unit, until the pool is
// sold out.
func testCodes(t *testing.T, a *arena) {
	const units = 600
	pool, lines := a.coded(t, units)
	services := a.three(t)
	y := storm{services: services, poolID: pool, prefix: "code", asked: units + 60}.run(t)
	require.Len(t, y.won, units)
	require.Len(t, y.refused[draw.CodeSoldOut], 60)
	require.NoError(t, judgeCodes(lines, y.won))
	again := map[string]draw.Draw{}
	for id, d := range y.won {
		if len(again) == 20 {
			break
		}
		r := named(pool, id)
		r.UserID = d.UserID
		replayed := receive(t, ask(t, services[len(again)%instances], r))
		require.NoError(t, replayed.err)
		require.True(t, replayed.draw.Replayed)
		require.Equal(t, d.Awards[0].Code, replayed.draw.Awards[0].Code)
		again[id] = replayed.draw
	}
	require.NoError(t, judgeCodes(lines, again))
	stocktest.NoViolations(t, a.store(0), pool)
}

// failing is a lookup of codes. left is how often it fails before it succeeds.
type failing struct {
	*stock.Store
	left atomic.Int64
}

func (f *failing) HandOut(ctx context.Context, poolID string, draws []*draw.Draw) error {
	if f.left.Add(-1) >= 0 {
		return errors.New("the lookup was lost")
	}
	return f.Store.HandOut(ctx, poolID, draws)
}

// testCodeReplays: simultaneous draws with one key get one code. If the lookup of the
// code fails, the draw is in doubt. A retry then gets award and code, also at another
// service and in a closed pool.
func testCodeReplays(t *testing.T, a *arena) {
	pool, lines := a.coded(t, 50)
	lost := &failing{Store: a.store(0)}
	lost.left.Store(1)
	services := []*service{a.serve(t, 0, func(s *settings) { s.codes = lost }), a.serve(t, 1), a.serve(t, 2)}
	_, err := services[0].Draw(t.Context(), named(pool, "lost"))
	require.Equal(t, draw.CodeOutcomeUnknown, draw.CodeOf(err), "%v", err)

	r := named(pool, "many")
	r.Count = 7
	var answers []<-chan answer
	for i := range 60 {
		answers = append(answers, ask(t, services[i%instances], r))
	}
	won := map[string]draw.Draw{}
	for i, from := range answers {
		got := receive(t, from)
		require.NoError(t, got.err)
		if i > 0 {
			require.Equal(t, codesOf(won["many"]), codesOf(got.draw))
		}
		won["many"] = got.draw
	}
	for _, state := range []draw.State{draw.StateOpen, draw.StatePaused, draw.StateClosed} {
		if state != draw.StateOpen {
			a.setState(t, 0, pool, state)
		}
		for _, s := range services {
			got := receive(t, ask(t, s, named(pool, "lost")))
			require.NoError(t, got.err)
			require.True(t, got.draw.Replayed)
			won["lost"] = got.draw
			require.NoError(t, judgeCodes(lines, won))
			again := receive(t, ask(t, s, r))
			require.NoError(t, again.err)
			require.Equal(t, codesOf(won["many"]), codesOf(again.draw))
		}
	}
	found, err := a.store(0).DrawWithCodes(t.Context(), pool, "many")
	require.NoError(t, err)
	require.Equal(t, codesOf(won["many"]), codesOf(found))
	stocktest.NoViolations(t, a.store(0), pool)
}

func codesOf(d draw.Draw) (all []string) {
	for i := range d.Awards {
		all = append(all, d.Awards[i].Code)
	}
	return all
}

// shown is a lookup of codes that records the codes that were read.
type shown struct {
	*stock.Store
	codes map[string]bool
}

func (s *shown) HandOut(ctx context.Context, poolID string, draws []*draw.Draw) error {
	err := s.Store.HandOut(ctx, poolID, draws)
	for _, d := range draws {
		for _, code := range codesOf(*d) {
			s.codes[code] = true
		}
	}
	return err
}

// testCodesUncommitted: a draw that is refused, or whose write fails, reads no code. So
// every code that was read belongs to an award.
func testCodesUncommitted(t *testing.T, a *arena) {
	pool, lines := a.coded(t, 3)
	seen := &shown{Store: a.store(0), codes: map[string]bool{}}
	var fails atomic.Bool
	s := a.serve(t, 0, func(s *settings) {
		s.codes = seen
		s.Store = &tampered{a.store(0), func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
			if fails.Load() && len(p.Awards) > 0 {
				return failed(ctx, tx, p)
			}
			return tx.Write(ctx, p)
		}}
		s.Sharer = nil
	})
	fails.Store(true)
	for i := range 3 {
		_, err := s.Draw(t.Context(), named(pool, fmt.Sprint("refused-", i)))
		require.Error(t, err)
	}
	require.Empty(t, seen.codes)
	fails.Store(false)
	won := map[string]draw.Draw{}
	for i := range 3 {
		got := receive(t, ask(t, s, named(pool, fmt.Sprint("won-", i))))
		require.NoError(t, got.err)
		won[got.draw.ID] = got.draw
	}
	require.NoError(t, judgeShown(seen.codes, won))
	require.Equal(t, draw.CodeSoldOut, draw.CodeOf(receive(t, ask(t, s, named(pool, "too late"))).err))
	require.Len(t, seen.codes, len(lines))
	stocktest.NoViolations(t, a.store(0), pool)
}

// testCodesAway: an instance that cannot unseal the codes of a pool makes no draws from
// it. It answers known keys with "may have drawn", and continues with other pools.
func testCodesAway(t *testing.T, a *arena) {
	pool, _ := a.coded(t, 20)
	plain := a.pool(t, 20)
	has, lacks := a.serve(t, 0, withCodesAway(a, 0)), a.serve(t, 1, func(s *settings) {
		s.codes = nil
		s.CodesAway = func(id string) error {
			if id == pool {
				return draw.ErrorSealKeyMissing(id)
			}
			return nil
		}
	})
	known := receive(t, ask(t, has, named(pool, "known")))
	require.NoError(t, known.err)
	before, err := a.store(0).Pool(t.Context(), pool)
	require.NoError(t, err)
	refused := receive(t, ask(t, lacks, named(pool, "new"))).err
	require.Equal(t, draw.CodeSealKeyMissing, draw.CodeOf(refused))
	require.False(t, isUnasked(refused), "nothing happened, and the log says so")
	again := receive(t, ask(t, lacks, named(pool, "known"))).err
	require.Equal(t, draw.CodeSealKeyMissing, draw.CodeOf(again))
	require.True(t, isUnasked(again), "the key has drawn")
	after, err := a.store(0).Pool(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.NoError(t, receive(t, ask(t, lacks, named(plain, "new"))).err)
	require.NoError(t, receive(t, ask(t, has, named(pool, "new"))).err)
}

// testCodesDamaged: a damaged or missing code fails only its own draw. No other draw of
// the batch fails, and no later draw.
func testCodesDamaged(t *testing.T, a *arena) {
	for name, statement := range map[string]string{"damaged": "UPDATE codes SET sealed = digest", "missing": "DELETE FROM codes"} {
		pool, lines := a.coded(t, 10)
		require.NoError(t, a.store(0).CheckKeys(t.Context()))
		stocktest.ExecAll(t, a.store(0), []string{statement + " WHERE pool_id = '" + pool + "' AND place = 3"})
		stop := newDoor()
		s := a.serve(t, 0, applying(stop.then(applied)), queueOf(5))
		answers := crowd(t, s, stop, pool, 5)
		stop.release()
		won := map[string]draw.Draw{}
		for id, from := range answers {
			got := receive(t, from)
			if got.err == nil {
				won[id] = got.draw
				continue
			}
			require.Equal(t, draw.CodeOutcomeUnknown, draw.CodeOf(got.err), "%s: %v", name, got.err)
		}
		require.Len(t, won, 5, name)
		require.NoError(t, judgeCodes(lines, won), name)
		require.NoError(t, a.store(0).CodesAway(pool), "the key is there")
	}
}

func isUnasked(err error) bool {
	e, ok := errors.AsType[*draw.Error](err)
	return ok && e.KeyUnasked
}

func withCodesAway(a *arena, i int) edit {
	return func(s *settings) { s.CodesAway = a.store(i).CodesAway }
}

// perRead gives the codes of a file in the order in which they are read.
type perRead struct {
	lines []string
	given atomic.Int64
}

func (c *perRead) HandOut(_ context.Context, _ string, draws []*draw.Draw) error {
	for _, d := range draws {
		for i := range d.Awards {
			d.Awards[i].Code = c.lines[(c.given.Add(1)-1)%int64(len(c.lines))]
		}
	}
	return nil
}

// TestCodesCondemnACounter: the broken double assigns codes when they are first read.
// Then an award gets the code of another unit, or a code is given twice.
func TestCodesCondemnACounter(t *testing.T) {
	t.Parallel()
	a := optimisticOnSQLite(t)
	pool, lines := a.coded(t, 60)
	double := &perRead{lines: lines}
	services := a.three(t, func(s *settings) { s.codes = double })
	r := named(pool, "again")
	for range 2 { // a replay takes another code
		require.NoError(t, receive(t, ask(t, services[0], r)).err)
	}
	y := storm{services: services, poolID: pool, prefix: "code", asked: 59}.run(t)
	require.Error(t, judgeCodes(lines, y.won))
}

// silent is a broken double: a lookup that gives no code and no error.
type silent struct{}

func (silent) HandOut(context.Context, string, []*draw.Draw) error { return nil }

// TestCodesCondemnSilence: the test detects an answer that lacks its code.
func TestCodesCondemnSilence(t *testing.T) {
	t.Parallel()
	a := newArena(t, cell{mode: lockmode.ForUpdate, dialect: "sqlite"})
	pool, lines := a.coded(t, 5)
	d := receive(t, ask(t, a.serve(t, 0, func(s *settings) { s.codes = silent{} }), named(pool, "k")))
	require.NoError(t, d.err)
	require.Error(t, judgeCodes(lines, map[string]draw.Draw{"k": d.draw}))
}

// judgeShown returns what is wrong with codes that were read: each must belong to an
// award.
func judgeShown(seen map[string]bool, won map[string]draw.Draw) error {
	given := map[string]bool{}
	for _, d := range won {
		for _, code := range codesOf(d) {
			given[code] = true
		}
	}
	for code := range seen {
		if !given[code] {
			return fmt.Errorf("%d codes were read and %d given", len(seen), len(given))
		}
	}
	return nil
}

// TestCodesCondemnReadingAhead: a lookup before the commit reads codes of draws that are
// undone.
func TestCodesCondemnReadingAhead(t *testing.T) {
	t.Parallel()
	a := newArena(t, cell{mode: lockmode.ForUpdate, dialect: "sqlite"})
	pool, _ := a.coded(t, 2)
	seen := &shown{Store: a.store(0), codes: map[string]bool{}}
	s := a.serve(t, 0, func(s *settings) {
		s.Sharer = nil
		s.Store = &tampered{a.store(0), func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
			tx.Rollback() // an SQLite file has one writer, and the lookup is a reader
			d := draw.Draw{PoolID: p.PoolID, Awards: p.Awards}
			if err := seen.HandOut(ctx, p.PoolID, []*draw.Draw{&d}); err != nil {
				return err
			}
			return &stock.Error{Class: stock.ClassOther, Reason: "unexpected", Err: errors.New("nobody expected this")}
		}}
	})
	_, err := s.Draw(t.Context(), named(pool, "k"))
	require.Error(t, err)
	require.Error(t, judgeShown(seen.codes, nil))
}
