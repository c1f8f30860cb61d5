package stock_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/hook"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// mortal is the feed of a relay that is killed: after some writes, no write reaches the
// database any more, even if receivers have accepted messages.
type mortal struct {
	hook.Feed
	left *atomic.Int64
}

// MoveCursor implements hook.Feed.
func (m mortal) MoveCursor(ctx context.Context, revision int64, from, to *hook.Cursor) (bool, error) {
	if m.left.Add(-1) < 0 {
		return false, errors.New("the relay was killed")
	}
	return m.Feed.MoveCursor(ctx, revision, from, to)
}

// judgeRelays reports the faults in the events of three pools that relays of several
// stores send at once. Each relay is killed after some writes.
func judgeRelays(t *testing.T, stores []*stock.Store, wrap func(*stock.Store) hook.Feed, limit time.Duration, writes ...int64) (faults []string) {
	t.Helper()
	const rounds, size = 6, 10
	s, m := stores[0], &stocktest.Moody{Receiver: stocktest.NewReceiver(t)}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	pools, versions := []string{"p", "q", "r"}, map[string][]int64{}
	for _, id := range pools {
		stocktest.Pool(t, s, id, rounds*size)
		p, err := s.Pool(t.Context(), id)
		require.NoError(t, err)
		for i := range int64(rounds * size) {
			versions[id] = append(versions[id], p.Version+1+i)
		}
	}
	made, err := s.CreateHook(t.Context(), hook.Create{URL: server.URL, Filter: hook.Filter{Types: []hook.Type{hook.TypeWon}}})
	require.NoError(t, err)
	var stops []func()
	for i, n := range writes {
		of := stores[i%len(stores)]
		left := &atomic.Int64{}
		left.Store(n)
		stops = append(stops, stocktest.StartRelay(t, of, mortal{wrap(of), left}))
	}
	defer func() {
		for _, stop := range stops {
			stop()
		}
	}()
	for round := range rounds {
		for _, id := range pools {
			names := make([]string, size)
			for i := range names {
				names[i] = fmt.Sprint("d", round, "-", i)
			}
			plan := stocktest.Plan(id, versions[id][0]-1+int64(round*size), "a", int64(round*size), names...)
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, plan))
		}
		time.Sleep(30 * time.Millisecond)
	}
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		faults = nil
		for _, id := range pools {
			events, _, _ := m.Of(id)
			faults = append(faults, stocktest.JudgeFirsts(events, versions[id], nil)...)
		}
		if len(faults) == 0 || time.Since(begun) > limit {
			return faults
		}
		require.NoError(t, s.RetryHook(t.Context(), made.ID)) // without the usual pauses
	}
}

// endless is more writes than a relay makes.
const endless = 1 << 40

func itself(s *stock.Store) hook.Feed { return s }

// TestRelaysShareHooks: several relays send concurrently, two of them are killed, and the
// receiver fails, drops connections and is late. The events of three pools still arrive
// in order, without a gap, at least once. Repeated events have equal ids.
func TestRelaysShareHooks(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.Migrated(t, dialect)
			stores := []*stock.Store{stocktest.Open(t, url, stock.Options{})}
			if dialect != "sqlite" { // only one process can serve a file
				stores = append(stores, stocktest.Open(t, url, stock.Options{}))
			}
			require.Empty(t, judgeRelays(t, stores, itself, time.Minute, 5, 12, endless))
		})
	}
}

// TestRelaysCatch: the test fails for relays whose cursor moves before the receiver has
// accepted.
func TestRelaysCatch(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	require.NotEmpty(t, judgeRelays(t, []*stock.Store{s}, func(s *stock.Store) hook.Feed { return hasty{s} }, 2*time.Second, endless))
}
