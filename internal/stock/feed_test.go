package stock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// readFeed reads the feed after a cursor to its end, in pages of few awards.
func readFeed(ctx context.Context, s *stock.Store, after draw.FeedCursor, wanted draw.FeedQuery) (all []draw.FeedAward, end draw.FeedCursor, err error) {
	for wanted.After = after; ; {
		if _, err := s.ExtendFeed(ctx); err != nil {
			return all, wanted.After, err
		}
		wanted.Limit = 3
		page, err := s.ReadFeed(ctx, wanted)
		if err != nil {
			return all, wanted.After, err
		}
		all, wanted.After = append(all, page.Awards...), page.Next
		if len(page.Awards) == 0 {
			return all, page.Next, nil
		}
	}
}

// places returns a text for each award, of its pool and its version.
func places(all []draw.FeedAward) (found []string) {
	for i := range all {
		found = append(found, fmt.Sprint(all[i].PoolID, " ", all[i].Version))
	}
	return found
}

// checkFeed checks what two readers have read. Each award comes once, in the same order
// for both readers, and within a pool in the order of versions.
func checkFeed(t *testing.T, s *stock.Store, pools []string, one, two []string) error {
	t.Helper()
	if fmt.Sprint(one) != fmt.Sprint(two) {
		return errors.New("two orders")
	}
	last, seen := map[string]int64{}, 0
	for _, place := range one {
		var pool string
		var version int64
		_, err := fmt.Sscan(place, &pool, &version)
		require.NoError(t, err)
		if version <= last[pool] {
			return fmt.Errorf("%s after version %d", place, last[pool])
		}
		last[pool], seen = version, seen+1
	}
	for _, pool := range pools {
		awards, err := s.Awards(t.Context(), pool, 0, 1000)
		require.NoError(t, err)
		seen -= len(awards)
	}
	if seen != 0 {
		return fmt.Errorf("%d awards more than there are", seen)
	}
	return nil
}

const feedPools, feedDraws = 50, 6

// drawFrom draws from each pool in sequence.
func drawFrom(t *testing.T, s *stock.Store, pools []string) {
	t.Helper()
	for n := range feedDraws {
		for _, pool := range pools {
			p := stocktest.Plan(pool, int64(2+n), "a", int64(n), fmt.Sprint("d", n))
			if err := stocktest.Write(t, s, stock.TxOptions{Lock: true}, p); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestFeedIsOneOrder: three instances draw from 50 pools. Meanwhile extensions of the
// feed are killed, and one instance is paused between its plan and its write. Two readers
// get each award once, in the same order.
func TestFeedIsOneOrder(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.Migrated(t, dialect)
			instances := []*stock.Store{stocktest.Open(t, url, stock.Options{})}
			for dialect != "sqlite" && len(instances) < 3 {
				instances = append(instances, stocktest.Open(t, url, stock.Options{}))
			}
			var pools []string
			for i := range feedPools {
				pools = append(pools, fmt.Sprintf("p%02d", i))
				stocktest.Pool(t, instances[0], pools[i], 100)
			}
			_, err := instances[0].ExtendFeed(t.Context())
			require.NoError(t, err)
			var work sync.WaitGroup
			done := make(chan struct{})
			for i, s := range instances {
				work.Go(func() { drawFrom(t, s, pools[i*feedPools/len(instances):(i+1)*feedPools/len(instances)]) })
			}
			var others sync.WaitGroup
			if dialect != "sqlite" {
				others.Go(func() { // it is paused, and then finds that others have extended the feed
					err := stock.ExtendFeedSlowly(t.Context(), instances[2], func() { time.Sleep(3 * time.Second) })
					if err == nil {
						t.Error("the stopped instance has added segments")
					}
				})
			}
			others.Go(func() { killExtensions(t, instances[0], done) })
			read := make([][]string, 2)
			for i := range read {
				others.Go(func() { read[i] = follow(t, instances[i%len(instances)], done) })
			}
			work.Wait()
			time.Sleep(100 * time.Millisecond)
			close(done)
			others.Wait()
			require.NoError(t, checkFeed(t, instances[0], pools, read[0], read[1]))
		})
	}
}

// killExtensions cancels extensions of the feed at random moments.
func killExtensions(t *testing.T, s *stock.Store, done chan struct{}) {
	t.Helper()
	for {
		select {
		case <-done:
			return
		case <-time.After(rand.N(20 * time.Millisecond)):
		}
		ctx, cancel := context.WithTimeout(t.Context(), rand.N(8*time.Millisecond))
		_, _ = s.ExtendFeed(ctx) // it may be cancelled anywhere
		cancel()
	}
}

// follow reads the feed until nothing more is added.
func follow(t *testing.T, s *stock.Store, done chan struct{}) (all []string) {
	t.Helper()
	var after draw.FeedCursor
	for {
		isLast := false
		select {
		case <-done:
			isLast = true
		case <-time.After(5 * time.Millisecond):
		}
		found, end, err := readFeed(t.Context(), s, after, draw.FeedQuery{})
		if err != nil {
			t.Error(err)
			return all
		}
		all, after = append(all, places(found)...), end
		if isLast {
			return all
		}
	}
}

// TestFeedIsNotByTime: the feed contains an award that was decided before others but
// committed after them. The broken double, a feed ordered by time, loses that award.
func TestFeedIsNotByTime(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s, ctx := stocktest.New(t, dialect), t.Context()
			pools := []string{"early", "late"}
			stocktest.Pool(t, s, "early", 10)
			stocktest.Pool(t, s, "late", 10)
			slow, fast := stocktest.Plan("early", 2, "a", 0, "d"), stocktest.Plan("late", 2, "a", 0, "d")
			for i, p := range []*urn.Plan{slow, fast} {
				p.At = time.Now().Add(time.Duration(i-1) * 20 * time.Second).UTC().Truncate(time.Microsecond)
				p.Awards[0].At = p.At
			}
			var read, byTime []string
			var after draw.FeedCursor
			var at time.Time
			readBoth := func() {
				found, end, err := readFeed(ctx, s, after, draw.FeedQuery{})
				require.NoError(t, err)
				read, after = append(read, places(found)...), end
				for _, pool := range pools {
					awards, err := s.Awards(ctx, pool, 0, 10)
					require.NoError(t, err)
					for i := range awards {
						if awards[i].At.After(at) {
							byTime, at = append(byTime, fmt.Sprint(pool, " ", awards[i].Version)), awards[i].At
						}
					}
				}
			}
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, fast))
			readBoth()
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, slow))
			readBoth()
			require.NoError(t, checkFeed(t, s, pools, read, read))
			require.ErrorContains(t, checkFeed(t, s, pools, byTime, byTime), "-1 awards")
		})
	}
}

// TestFeedTellsForks: if a pool loses versions that a reader has read, the reader gets an
// error. It can then continue with the versions that replaced them.
func TestFeedTellsForks(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s, ctx := stocktest.New(t, dialect), t.Context()
			stocktest.Pool(t, s, "spring", 10)
			stocktest.Pool(t, s, "other", 10)
			write := func(pool string, from, issued int64, keys ...string) {
				require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan(pool, from, "a", issued, keys...)))
			}
			write("spring", 2, 0, "d1")
			found, after, err := readFeed(ctx, s, draw.FeedCursor{}, draw.FeedQuery{})
			require.NoError(t, err)
			require.Equal(t, []string{"spring 3"}, places(found))
			kept := stocktest.Keep(t, s, "spring")
			write("spring", 3, 1, "d2", "d3")
			write("other", 2, 0, "o1")
			found, after, err = readFeed(ctx, s, after, draw.FeedQuery{})
			require.NoError(t, err)
			require.ElementsMatch(t, []string{"spring 4", "spring 5", "other 3"}, places(found))

			kept.PutBack(t, s)
			_, _, err = readFeed(ctx, s, after, draw.FeedQuery{})
			require.Equal(t, draw.CodeFeedForked, draw.CodeOf(err))
			refused, _ := errors.AsType[*draw.Error](err)
			require.Equal(t, &draw.Fork{PoolID: "spring", Version: 3}, refused.Fork)
			write("spring", 3, 1, "d4")
			found, _, err = readFeed(ctx, s, after, draw.FeedQuery{AcceptFork: true})
			require.NoError(t, err)
			require.Equal(t, []string{"spring 4"}, places(found))
			found, _, err = readFeed(ctx, s, draw.FeedCursor{}, draw.FeedQuery{AcceptFork: true})
			require.NoError(t, err)
			require.ElementsMatch(t, []string{"spring 3", "other 3", "spring 4"}, places(found), "what was lost is not there")

			ahead := after
			ahead.Segment += 100
			_, err = s.ReadFeed(ctx, draw.FeedQuery{After: ahead, Limit: 1})
			require.Equal(t, draw.CodeFeedForked, draw.CodeOf(err), "a cursor of an order that is no more")
		})
	}
}

// TestMoneyOfPools tests the budget, the currency, why nothing can be won, and low
// prizes.
func TestMoneyOfPools(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s, ctx := stocktest.New(t, dialect), t.Context()
			stocktest.Pool(t, s, "spring", 10)
			before, err := s.Pool(ctx, "spring")
			require.NoError(t, err)
			require.Empty(t, before.Currency)
			changed, err := s.ChangePool(ctx, "spring", draw.PoolChange{Currency: new("EUR")}, "anna")
			require.NoError(t, err)
			require.Equal(t, "EUR", changed.Currency)
			require.Equal(t, [2]int64{before.Version, before.Revision}, [2]int64{changed.Version, changed.Revision}, "it makes no version")
			_, err = s.ChangePool(ctx, "spring", draw.PoolChange{Currency: new("euro")}, "anna")
			require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err))
			money, err := s.Money(ctx, &changed)
			require.NoError(t, err)
			require.Equal(t, draw.Money{}, money)
			_, err = s.SetRules(ctx, "spring", drawtest.Rules(t, `{"low":[{"prize":"a","below":11}]}`), nil, "anna")
			require.NoError(t, err)
			low, err := s.Overviews(ctx, 1, 1)
			require.NoError(t, err)
			require.Equal(t, []draw.LowPrize{{PoolID: "spring", PrizeID: "a", Remaining: 10, Below: 11}}, low[0].Money.Low)

			_, err = s.Stock(ctx, draw.Stocking{PoolID: "spring", PrizeID: "a", Delta: -10, Reason: "back"}, "anna")
			require.NoError(t, err)
			empty, err := s.Pool(ctx, "spring")
			require.NoError(t, err)
			money, err = s.Money(ctx, &empty)
			require.NoError(t, err)
			require.Equal(t, draw.WithheldStock, money.Nothing.Why)
			_, err = s.PlanItem(ctx, "spring", draw.Item{At: time.Now().Add(time.Hour).UTC().Truncate(time.Second), Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: "a", Delta: 5, Reason: "eve"}}, "", "anna")
			require.NoError(t, err)
			empty, err = s.Pool(ctx, "spring")
			require.NoError(t, err)
			money, err = s.Money(ctx, &empty)
			require.NoError(t, err)
			require.Equal(t, draw.WithheldDates, money.Nothing.Why)

			none, err := s.ChangePool(ctx, "spring", draw.PoolChange{Currency: new("")}, "anna")
			require.NoError(t, err)
			require.Empty(t, none.Currency)
			require.NoError(t, s.DeletePool(ctx, "spring", nil, "anna"))
		})
	}
}
