package lockmode_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/group"
	"drawsvc/internal/locker"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// cell is one combination of mode, dialect and lock. lock is a scheme of package locker,
// or nobody; it is "" except in external mode.
type cell struct{ mode, dialect, lock string }

// nobody is a lock that excludes nobody. Every lock service fails like that occasionally.
// The tokens of the lock still grow.
const nobody = "nobody"

func (c cell) String() string {
	return strings.TrimSuffix(c.mode+" "+c.lock, " ") + " on " + c.dialect
}

// cells returns all combinations of registered modes, dialects and locks. It leaves out
// the locks that a dialect does not have.
func cells() []cell {
	var all []cell
	for _, dialect := range stock.Dialects() {
		for _, mode := range lockmode.Names() {
			if mode != lockmode.External {
				all = append(all, cell{mode: mode, dialect: dialect})
				continue
			}
			for _, lock := range append(locker.Schemes(), nobody) {
				if lock == nobody || servertest.Locks()[lock].WorksOn(dialect) {
					all = append(all, cell{mode, dialect, lock})
				}
			}
		}
	}
	return all
}

// instances is the number of services that share one database.
const instances = 3

// arena is one database, with the data that several services need to share it. Each
// service has a store and a lock of its own. An SQLite file has only one store, because
// only one process uses it.
type arena struct {
	cell
	url    string
	stores []*stock.Store
	locks  []lockmode.Locker
}

// fewConnections limits each instance to a few connections, but more than its concurrent
// batches. Opening one takes PostgreSQL as long as fifty draws.
const fewConnections = "&pool_max_conns=6"

func newArena(t *testing.T, c cell) *arena {
	t.Helper()
	url := stocktest.Migrated(t, c.dialect)
	if c.dialect == "postgres" {
		url += fewConnections
	}
	return newArenaOn(t, c, url)
}

func newArenaOn(t *testing.T, c cell, url string) *arena {
	t.Helper()
	a := &arena{cell: c, url: url}
	for len(a.stores) == 0 || c.dialect != "sqlite" && len(a.stores) < instances {
		a.stores = append(a.stores, stocktest.Open(t, a.url, stock.Options{Identities: stocktest.Identities(t), SealKeys: stocktest.SealKeys(t, "k1")}))
	}
	a.openLocks(t)
	return a
}

// lockTTL and lockWait are long enough for a test that is paused on a busy machine.
const (
	lockTTL  = 20 * time.Second
	lockWait = 8 * time.Second
)

func (a *arena) openLocks(t *testing.T) {
	if a.lock == "" || a.lock == nobody {
		open := &noLock{}
		a.locks = []lockmode.Locker{open}
		return
	}
	url := servertest.LockURL(t, a.lock)
	for i := range instances {
		l, err := locker.Open(t.Context(), url, locker.Options{TTL: lockTTL, Wait: lockWait, Database: a.store(i)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		a.locks = append(a.locks, l)
	}
}

func (a *arena) store(i int) *stock.Store { return a.stores[i%len(a.stores)] }

// pool creates a pool with a unique name: some lock services are shared by all tests.
func (a *arena) pool(t *testing.T, stocked ...int64) string {
	t.Helper()
	id := "pool-" + strings.ToLower(rand.Text())
	stocktest.Pool(t, a.store(0), id, stocked...)
	return id
}

// settings are the settings of one service, which a test may change.
type settings struct {
	lockmode.Options
	group.Limits
	codes group.Codes
}

type edit func(*settings)

// service is one instance: its queues, its modes, its store.
type service struct {
	*group.Batcher
	issuer group.Issuer
	seen   *watch
}

// serve starts the i-th instance, and drains it when the test ends.
func (a *arena) serve(t *testing.T, i int, edits ...edit) *service {
	t.Helper()
	seen := newWatch()
	s := &settings{
		Options: lockmode.Options{
			Store: a.store(i), Agendas: a.store(i), Sharer: a.store(i), Observer: seen, Log: slog.New(slog.DiscardHandler), Mode: a.mode,
			Budget: 6 * time.Second, Settle: 9 * time.Second,
			OptimisticAttempts: 10, OptimisticBudget: 500 * time.Millisecond,
			Locker: a.locks[i%len(a.locks)], LockName: a.lock,
		},
		Limits: group.Limits{BatchMax: 512, QueueMax: 4096, Timeout: 10 * time.Second},
		codes:  a.store(i),
	}
	for _, e := range edits {
		e(s)
	}
	issuer, err := lockmode.New(s.Options)
	require.NoError(t, err)
	b := group.NewBatcher(seen.around(issuer), seen, s.Limits)
	b.HandOutBy(s.codes)
	t.Cleanup(func() { drain(t, b) })
	return &service{Batcher: b, issuer: issuer, seen: seen}
}

// three starts all instances.
func (a *arena) three(t *testing.T, edits ...edit) []*service {
	var all []*service
	for i := range instances {
		all = append(all, a.serve(t, i, edits...))
	}
	return all
}

// patience bounds every wait of a test; normally no wait takes that long.
const patience = 2 * time.Minute

func drain(t *testing.T, b *group.Batcher) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, b.Drain(ctx))
}

// noLock grants every request at once.
type noLock struct{ token atomic.Int64 }

func (l *noLock) WithLock(ctx context.Context, _ string, fn func(context.Context, int64) error) error {
	return fn(ctx, l.token.Add(1))
}

// TestImpossibleLockIsRefusedAtStart: a lock that a dialect does not have is refused at
// the start, not at the first draw.
func TestImpossibleLockIsRefusedAtStart(t *testing.T) {
	found := 0
	for _, dialect := range stock.Dialects() {
		for _, scheme := range locker.Schemes() {
			if servertest.Locks()[scheme].WorksOn(dialect) {
				continue
			}
			found++
			store := stocktest.New(t, dialect)
			_, err := locker.Open(t.Context(), scheme+":", locker.Options{TTL: lockTTL, Database: store})
			require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%s on %s: %v", scheme, dialect, err)
		}
	}
	require.Equal(t, 2, found)
}
