package lockmode_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/stock"
)

// ruled creates a pool of gold and silver with an endless blank, under rules.
func (a *arena) ruled(t *testing.T, gold, silver int64, rules string) string {
	t.Helper()
	pool := a.pool(t)
	for _, p := range []draw.Prize{
		{ID: "gold", Name: "Gold", Value: decimal.NewFromInt(3), Stocked: gold},
		{ID: "silver", Name: "Silver", Value: decimal.NewFromInt(1), Stocked: silver},
		{ID: "none", Name: "No win", Kind: draw.KindBlank, Stocked: draw.EndlessStock},
	} {
		_, err := a.store(0).AddPrize(t.Context(), pool, p, "test")
		require.NoError(t, err)
	}
	a.setRules(t, 0, pool, rules)
	return pool
}

func (a *arena) setRules(t *testing.T, i int, pool, document string) {
	t.Helper()
	parsed, err := rules.Parse([]byte(document))
	require.NoError(t, err)
	for {
		_, err = a.store(i).SetRules(t.Context(), pool, parsed, nil, "test")
		if draw.CodeOf(err) != draw.CodeContended {
			break
		}
	}
	require.NoError(t, err)
}

// lawful folds the whole history of a pool and checks that nothing in it violates its
// rules.
func lawful(t *testing.T, s *stock.Store, pool string) draw.Audit {
	t.Helper()
	audit, err := s.AuditDeep(t.Context(), pool)
	require.NoError(t, err)
	require.Empty(t, audit.Violations)
	return audit
}

// awardsOf lists all awards of a pool.
func awardsOf(t *testing.T, s *stock.Store, pool string) []draw.Award {
	t.Helper()
	all, err := s.Awards(t.Context(), pool, 0, 100_000)
	require.NoError(t, err)
	return all
}

// testLimit: of a user's concurrent draws with different keys, exactly as many are
// granted as the limit allows. All others are refused because of the limit and for no
// other reason.
func testLimit(t *testing.T, a *arena) {
	pool := a.ruled(t, 50, 50, `{"fallback":"none","limits":[{"of":"draws","max":3,"per":"day"}]}`)
	services := a.three(t)
	var answers []<-chan answer
	for i := range 150 {
		answers = append(answers, ask(t, services[i%instances], named(pool, fmt.Sprint("limit-", i))))
	}
	granted := ""
	for i, from := range answers {
		got := receive(t, from)
		if got.err == nil {
			granted += fmt.Sprintf(" limit-%d", i)
			continue
		}
		require.Equal(t, draw.CodeLimitReached, draw.CodeOf(got.err), "%v", got.err)
	}
	require.Len(t, awardsOf(t, a.store(0), pool), 3, granted)
	lawful(t, a.store(0), pool)

	first := awardsOf(t, a.store(0), pool)[0].DrawID // a known key is answered even at the limit
	again := receive(t, ask(t, services[1], named(pool, first)))
	require.NoError(t, again.err)
	require.True(t, again.draw.Replayed)
	st, err := a.store(0).Standing(t.Context(), pool, "u")
	require.NoError(t, err)
	require.Equal(t, [2]int64{3, 0}, [2]int64{st.Limits[0].Used, st.Limits[0].Left})
}

// testLimits: users draw many units at once. Nobody exceeds a limit. A user is refused
// only if fewer units were left than requested.
func testLimits(t *testing.T, a *arena) {
	const users, most = 20, 7
	pool := a.ruled(t, 40, 40, `{"fallback":"none","limits":[{"of":"draws","max":7},{"of":"draws","max":7,"per":"1h"},{"of":"wins","max":4}]}`)
	services := a.three(t)
	type asked struct {
		user  string
		count int
		from  <-chan answer
	}
	var all []asked
	for i := range users * 8 {
		r := named(pool, fmt.Sprint("limits-", i))
		r.UserID, r.Count = fmt.Sprint("user-", i%users), 1+i/users%4
		all = append(all, asked{r.UserID, r.Count, ask(t, services[i%instances], r)})
	}
	granted, refused := map[string]int{}, map[string]int{}
	for _, one := range all {
		got := receive(t, one.from)
		if got.err == nil {
			granted[one.user] += one.count
			continue
		}
		require.Equal(t, draw.CodeLimitReached, draw.CodeOf(got.err), "%v", got.err)
		if least, known := refused[one.user]; !known || one.count < least {
			refused[one.user] = one.count
		}
	}
	wins := map[string]int{}
	for _, w := range awardsOf(t, a.store(0), pool) {
		if w.Win() {
			wins[w.UserID]++
		}
	}
	for user, n := range granted {
		require.LessOrEqual(t, n, most, user)
		require.Greater(t, n+refused[user], most, "%s was refused %d with %d used", user, refused[user], n)
		require.LessOrEqual(t, wins[user], 4, user)
	}
	lawful(t, a.store(0), pool)
}

// testRedirects: if a limit or the budget withholds a prize, the draw is granted with
// the fallback.
func testRedirects(t *testing.T, a *arena) {
	pool := a.ruled(t, 60, 60, `{"fallback":"none","limits":[{"of":"prize","prize":"gold","max":2}],"budget":{"max":"40.00"}}`)
	services := a.three(t)
	var answers []<-chan answer
	for i := range 120 {
		r := named(pool, fmt.Sprint("redirects-", i))
		r.UserID = fmt.Sprint("user-", i%6)
		answers = append(answers, ask(t, services[i%instances], r))
	}
	for _, from := range answers {
		require.NoError(t, receive(t, from).err)
	}
	spent, gold := decimal.Zero, map[string]int{}
	for _, w := range awardsOf(t, a.store(0), pool) {
		spent = spent.Add(w.Value)
		if w.PrizeID == "gold" {
			gold[w.UserID]++
		}
	}
	for user, n := range gold {
		require.LessOrEqual(t, n, 2, user)
	}
	require.True(t, spent.LessThanOrEqual(decimal.NewFromInt(40)), spent)
	require.True(t, spent.GreaterThan(decimal.NewFromInt(37)), "%s: nothing that was withheld would have fitted", spent)
	lawful(t, a.store(0), pool)
}

// noWinsOf requests draws that seldom win. It requests each key from all services at
// once, and once more later. It returns an error if a key has two different answers, or
// if none of its answers says that the draw is new.
func noWinsOf(t *testing.T, pool string, services []*service) error {
	t.Helper()
	const keys, times = 10, 9
	var answers [keys][]<-chan answer
	for i := range keys * times {
		key := i % keys
		answers[key] = append(answers[key], ask(t, services[i%instances], named(pool, fmt.Sprint("no-win-", key))))
	}
	lost := 0
	for key, all := range answers {
		first, fresh := receive(t, all[0]), 0
		again := ask(t, services[key%instances], named(pool, fmt.Sprint("no-win-", key)))
		for i, from := range append(all, again) {
			got := first
			if i > 0 {
				got = receive(t, from)
			}
			require.NoError(t, got.err)
			if err := sameAwards(first.draw.Awards, got.draw.Awards); err != nil {
				return fmt.Errorf("answer %d under key %d: %w", i, key, err)
			}
			if !got.draw.Replayed {
				fresh++
			}
		}
		if fresh != 1 {
			return fmt.Errorf("key %d was new %d times", key, fresh)
		}
		if !first.draw.Awards[0].Win() {
			lost++
		}
	}
	require.Positive(t, lost, "some did not win")
	return nil
}

// testNoWins: the answer to a key is permanent even if it is not a win.
func testNoWins(t *testing.T, a *arena) {
	pool := a.ruled(t, 50, 50, `{"fallback":"none","win":"1/10"}`)
	require.NoError(t, noWinsOf(t, pool, a.three(t)))
	require.Len(t, awardsOf(t, a.store(0), pool), 10)
	lawful(t, a.store(0), pool)
}

// testRulesReplaced: every award is lawful under the rules in force at its version.
func testRulesReplaced(t *testing.T, a *arena) {
	pool := a.ruled(t, 100, 100, `{"fallback":"none"}`)
	services := a.three(t)
	var changes sync.WaitGroup
	changes.Go(func() {
		for i := range 12 {
			rules := `{"fallback":"none","win":"1/2","guarantee":{"after":2,"prize":"silver"}}`
			if i%2 == 1 {
				rules = `{"fallback":"none","limits":[{"of":"prize","prize":"silver","max":2}],"odds":{"of":10,"prizes":{"gold":3,"silver":3}}}`
			}
			a.setRules(t, i, pool, rules)
		}
	})
	var answers []<-chan answer
	for i := range 150 {
		r := named(pool, fmt.Sprint("replaced-", i))
		r.UserID = fmt.Sprint("user-", i%5)
		answers = append(answers, ask(t, services[i%instances], r))
	}
	for _, from := range answers {
		require.NoError(t, receive(t, from).err)
	}
	changes.Wait()
	require.Len(t, awardsOf(t, a.store(0), pool), 150)
	lawful(t, a.store(0), pool)
}
