package lockmode_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// sharing counts the results of shared transactions, and can make them fail.
type sharing struct {
	lockmode.Sharer
	applied *atomic.Int64
	spoil   func(n int64, plans []*urn.Plan, apply func() ([]bool, error)) ([]bool, error)
}

type sharingTx struct {
	stock.SharedTx
	store *sharing
}

func (s *sharing) ReadShared(ctx context.Context, all []stock.SharedPool, o stock.TxOptions) (stock.SharedTx, []bool, error) {
	shared, ready, err := s.Sharer.ReadShared(ctx, all, o)
	return &sharingTx{shared, s}, ready, err
}

func (tx *sharingTx) Write(ctx context.Context, plans []*urn.Plan) ([]bool, error) {
	n := tx.store.applied.Add(int64(len(plans)))
	apply := func() ([]bool, error) { return tx.SharedTx.Write(ctx, plans) }
	if tx.store.spoil == nil {
		return apply()
	}
	return tx.store.spoil(n, plans, apply)
}

// spoils are the failures that a shared transaction may have.
func spoils() map[string]func(int64, []*urn.Plan, func() ([]bool, error)) ([]bool, error) {
	lost := &stock.Error{Class: stock.ClassUnknown, Reason: "commit", Err: errCut}
	return map[string]func(int64, []*urn.Plan, func() ([]bool, error)) ([]bool, error){
		"nothing": nil,
		"every third answer lost": func(n int64, _ []*urn.Plan, apply func() ([]bool, error)) ([]bool, error) {
			applied, err := apply()
			if n%3 == 0 && err == nil {
				return nil, lost
			}
			return applied, err
		},
		"every third commit lost": func(n int64, _ []*urn.Plan, apply func() ([]bool, error)) ([]bool, error) {
			if n%3 == 0 {
				return nil, lost
			}
			return apply()
		},
		"every third panics": func(n int64, _ []*urn.Plan, apply func() ([]bool, error)) ([]bool, error) {
			if n%3 == 0 {
				panic("a defect")
			}
			return apply()
		},
	}
}

// manyPools is how many pools a test draws from at the same time.
const manyPools = 25

// TestSharedTransactionsSellOutExactly: three services make a few draws from each of many
// pools. Transactions are shared. Each pool is sold out exactly, with one draw per key,
// even if shared transactions fail.
func TestSharedTransactionsSellOutExactly(t *testing.T) {
	for _, mode := range []string{lockmode.ForUpdate, lockmode.Optimistic} {
		for name, spoil := range spoils() {
			t.Run(mode+", spoilt: "+name, func(t *testing.T) {
				t.Parallel()
				a := newArena(t, cell{mode: mode, dialect: "postgres"})
				count := new(atomic.Int64)
				services := a.three(t, func(s *settings) { s.Sharer = &sharing{s.Sharer, count, spoil} })
				won := drawFromMany(t, a, services)
				require.Greater(t, count.Load(), int64(manyPools), "small batches of several pools share transactions")
				t.Logf("%d of %d draws in shared transactions", count.Load(), won)
			})
		}
	}
}

// TestSharedTransactionFailsOnePoolAlone: the write of one pool fails for a reason that
// concerns only this pool. The other pools of the transaction are then decided alone, and
// none of them is in doubt.
func TestSharedTransactionFailsOnePoolAlone(t *testing.T) {
	t.Parallel()
	a := newArena(t, cell{mode: lockmode.ForUpdate, dialect: "postgres"})
	bad, failed, shared := a.pool(t, 1000), new(atomic.Int64), new(atomic.Int64)
	spoil := func(_ int64, plans []*urn.Plan, apply func() ([]bool, error)) ([]bool, error) {
		for _, p := range plans {
			if p.PoolID == bad {
				failed.Add(1)
				return nil, &stock.Error{Class: stock.ClassOther, Reason: "sqlstate-23514", Err: errCut}
			}
		}
		return apply()
	}
	lookups := &lookupCounter{}
	s := a.serve(t, 0, func(s *settings) {
		s.Sharer = &sharing{s.Sharer, shared, spoil}
		lookups.Store, s.Store = s.Store, lookups
	})
	pools := []string{bad}
	for range manyPools {
		pools = append(pools, a.pool(t, 1000))
	}
	var group sync.WaitGroup
	for _, pool := range pools {
		group.Go(func() {
			for n := 0; n < 20 || failed.Load() == 0 && n < 1000; n++ {
				if _, err := s.Draw(t.Context(), named(pool, fmt.Sprint("d", n))); err != nil {
					t.Errorf("%s: %v", pool, err)
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d shared transactions failed, %d shared", failed.Load(), shared.Load())
	require.Positive(t, failed.Load())
	require.Zero(t, lookups.n.Load(), "no draw was looked up in the log")
}

// lookupCounter counts the lookups in the log.
type lookupCounter struct {
	lockmode.Store
	n atomic.Int64
}

type lookingTx struct {
	stock.Tx
	n *atomic.Int64
}

func (s *lookupCounter) Read(ctx context.Context, urn *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	tx, err := s.Store.Read(ctx, urn, o)
	if err != nil {
		return nil, err
	}
	return &lookingTx{tx, &s.n}, nil
}

func (tx *lookingTx) Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error) {
	tx.n.Add(1)
	return tx.Tx.Draws(ctx, poolID, ids)
}

// TestSharedNeverElsewhere: in external mode, or if the store cannot share, every pool is
// decided separately.
func TestSharedNeverElsewhere(t *testing.T) {
	for _, c := range []cell{{lockmode.External, "postgres", "table"}, {lockmode.ForUpdate, "sqlite", ""}} {
		a := newArena(t, c)
		count := new(atomic.Int64)
		drawFromMany(t, a, a.three(t, func(s *settings) { s.Sharer = &sharing{Sharer: s.Sharer, applied: count} }))
		require.Zero(t, count.Load(), c)
	}
}

// drawFromMany requests twice the stock of many pools, in random order. Some keys are
// used twice. It returns how many draws won.
func drawFromMany(t *testing.T, a *arena, services []*service) (won int) {
	const each = 10
	pools := make([]string, manyPools)
	for i := range pools {
		pools[i] = a.pool(t, each-3, 3)
	}
	type asked struct{ pool, key int }
	var order []asked
	for i := range pools {
		for k := range 2 * each {
			order = append(order, asked{i, k})
			if k%8 == 0 {
				order = append(order, asked{i, k})
			}
		}
	}
	rand.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answers := make([]map[string]draw.Draw, len(pools))
	for i := range answers {
		answers[i] = map[string]draw.Draw{}
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	var next atomic.Int64
	for caller := range callers {
		group.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(order); n = int(next.Add(1)) - 1 {
				o := order[n]
				r := draw.Request{PoolID: pools[o.pool], UserID: "u", DrawID: fmt.Sprint("k-", o.key), Named: o.key%8 == 0 || n%2 == 0, Count: 1}
				d, err := insist(ctx, services[caller%len(services):], r, nil)
				mu.Lock()
				known, again := answers[o.pool][r.DrawID]
				switch {
				case draw.CodeOf(err) == draw.CodeSoldOut:
				case err != nil:
					t.Errorf("%s of %s: %v", r.DrawID, r.PoolID, err)
				case again:
					if err := sameAwards(known.Awards, d.Awards); err != nil {
						t.Error(err)
					}
				default:
					answers[o.pool][r.DrawID] = d
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	for i, pool := range pools {
		audit := stocktest.NoViolations(t, a.store(0), pool)
		require.Zero(t, remaining(audit), pool)
		require.Len(t, answers[i], each, pool)
		won += len(answers[i])
	}
	return won
}
