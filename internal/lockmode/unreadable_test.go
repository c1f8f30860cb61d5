package lockmode_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// unreadableFaults lists the faults of an instance that cannot read a pool's stored
// data. The instance must refuse new draws with that reason, answer a known key, and
// continue with draws from another pool.
func unreadableFaults(t *testing.T, s *service, pool, known, other, name string) (faults []string) {
	t.Helper()
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for i := range 3 {
		r := named(pool, fmt.Sprint(name, "-new-", i))
		r.Named = i > 0
		if got := receive(t, ask(t, s, r)); draw.CodeOf(got.err) != draw.CodeRulesUnreadable {
			fault("a new draw is answered %v", got.err)
		}
	}
	if again := receive(t, ask(t, s, named(pool, known))); again.err != nil || !again.draw.Replayed {
		fault("a known key is answered %v", again.err)
	}
	if got := receive(t, ask(t, s, named(other, name+"-other"))); got.err != nil {
		fault("a draw of another pool is answered %v", got.err)
	}
	return faults
}

// testRulesUnreadable: the rules in force are of a later release, and an instance cannot
// read them. It makes no new draws from the pool, and otherwise works as usual. Rules
// that it can read end this.
func testRulesUnreadable(t *testing.T, a *arena) {
	pool, other := a.ruled(t, 500, 500, `{"fallback":"none","limits":[{"of":"draws","max":1000}]}`), a.pool(t, 100)
	require.NoError(t, receive(t, ask(t, a.serve(t, 0), named(pool, "known"))).err)
	stocktest.LaterRules(t, a.store(0), pool)
	services := a.three(t)
	for i, s := range services {
		require.Empty(t, unreadableFaults(t, s, pool, "known", other, fmt.Sprint("rules-", i)))
	}
	require.Len(t, awardsOf(t, a.store(0), pool), 1)
	a.setRules(t, 0, pool, `{"fallback":"none"}`)
	for i, s := range services {
		require.NoError(t, receive(t, ask(t, s, named(pool, fmt.Sprint("after-", i)))).err)
	}
}

// testItemUnreadable: no draw comes before a due item of a later release. An instance
// that cannot read the item makes no new draws for the time being. This ends when the
// item is removed, or when another instance has carried it out. It also ends a minute
// after the item was due, when the item is recorded as failed.
func testItemUnreadable(t *testing.T, a *arena) {
	pool, other := a.ruled(t, 500, 500, `{"fallback":"none"}`), a.pool(t, 100)
	parsed, err := rules.Parse([]byte(`{"fallback":"none","win":"1/2"}`))
	require.NoError(t, err)
	services := a.three(t)
	require.NoError(t, receive(t, ask(t, services[0], named(pool, "known"))).err)
	ends := map[string]func(item int64){
		"removed": func(item int64) { require.NoError(t, a.store(0).RemoveItem(t.Context(), pool, item, "test")) },
		"read":    func(int64) { stocktest.ReadableItems(t, a.store(0), pool) },
		"old": func(int64) {
			stocktest.NoViolations(t, a.store(0), pool) // the item is soon too old for the earlier awards
			stocktest.AgeItems(t, a.store(0), pool, 2*time.Minute)
		},
	}
	for i, name := range []string{"removed", "read", "old"} {
		at := a.planOne(t, pool, func(at time.Time) draw.Item { return draw.Item{At: at, Kind: draw.ItemRules, Rules: parsed} })
		stocktest.LaterItems(t, a.store(0), pool)
		stocktest.Await(t, a.store(0), at)
		require.Empty(t, unreadableFaults(t, services[i%instances], pool, "known", other, name))
		ends[name](int64(i + 1))
		require.NoError(t, receive(t, ask(t, services[i%instances], named(pool, name+"-after"))).err)
	}
	items, err := a.store(0).Agenda(t.Context(), pool, 0, 10, false)
	require.NoError(t, err)
	require.Len(t, items, 2)
	require.Positive(t, items[0].Done)
	require.Positive(t, items[1].Done)
	ruling, err := a.store(0).Rules(t.Context(), pool, 0)
	require.NoError(t, err)
	require.Equal(t, items[0].Done, ruling.Version, "the item that was read has put its rules in force, the failed one none")
}

// blamingStore reads pools as the store in it does. For unreadable rules, it returns a
// parser's error, as if the caller had written them.
type blamingStore struct{ lockmode.Store }

func (s blamingStore) Read(ctx context.Context, urn *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	tx, err := s.Store.Read(ctx, urn, o)
	if err != nil || urn.Readable(urn.PoolID) == nil {
		return tx, err
	}
	tx.Rollback()
	return nil, draw.Wrap(draw.CodeInternal, draw.Errorf(draw.CodeInvalidRequest, "unknown member"), "the rules cannot be read")
}

// TestUnreadableCondemns: the test detects an instance that blames the caller for
// stored data.
func TestUnreadableCondemns(t *testing.T) {
	t.Parallel()
	a := newArena(t, cell{mode: lockmode.ForUpdate, dialect: "sqlite"})
	pool, other := a.ruled(t, 500, 500, `{"fallback":"none"}`), a.pool(t, 100)
	good := a.serve(t, 0)
	require.NoError(t, receive(t, ask(t, good, named(pool, "known"))).err)
	stocktest.LaterRules(t, a.store(0), pool)
	blaming := a.serve(t, 0, func(s *settings) { s.Store, s.Sharer = blamingStore{a.store(0)}, nil })
	require.Contains(t, strings.Join(unreadableFaults(t, blaming, pool, "known", other, "blaming"), "\n"), "a known key is answered invalid-request")
	require.Empty(t, unreadableFaults(t, a.serve(t, 0), pool, "known", other, "good"))
}
