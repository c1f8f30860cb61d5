package live

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// some returns a pool for these tests.
func some() []draw.Overview {
	return []draw.Overview{{
		Pool:       draw.Pool{ID: "spring", Name: "Spring", State: draw.StateOpen, Version: 7, Prizes: []draw.Prize{{ID: "gold", Name: "Gold", Stocked: 10, Issued: 4}}},
		PrizeCount: 1, Stocked: 10, Issued: 4, Awards: 4,
	}}
}

// source counts its reads, and detects two at the same time.
type source struct {
	reads, under atomic.Int64
	twice        atomic.Bool
}

func (s *source) read(context.Context) ([]draw.Overview, error) {
	if s.under.Add(1) > 1 {
		s.twice.Store(true)
	}
	defer s.under.Add(-1)
	s.reads.Add(1)
	return some(), nil
}

// watchers starts n listeners, which watch until end is called, and counts their frames.
func watchers(t *testing.T, f *Feed, n int) (frames []atomic.Int64, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	frames = make([]atomic.Int64, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			err := f.Watch(ctx, func([]byte) error { frames[i].Add(1); return nil })
			if err != nil {
				t.Errorf("watch: %v", err)
			}
		})
	}
	return frames, func() { cancel(); all.Wait() }
}

func total(frames []atomic.Int64) (sum int64) {
	for i := range frames {
		sum += frames[i].Load()
	}
	return sum
}

// each reports whether every listener has had a frame.
func each(frames []atomic.Int64) bool {
	for i := range frames {
		if frames[i].Load() == 0 {
			return false
		}
	}
	return true
}

// TestOneReaderFeedsAll: ten thousand listeners cause as many readings as one. When all
// have left, there are no more readings.
func TestOneReaderFeedsAll(t *testing.T) {
	const many = 10_000
	s := &source{}
	f := New(s.read, Limits{Every: 20 * time.Millisecond, Frames: 100})
	frames, end := watchers(t, f, many)
	require.Eventually(t, func() bool { return each(frames) }, 30*time.Second, 10*time.Millisecond, "each gets a first frame")
	reads, sent := s.reads.Load(), total(frames)
	require.Eventually(t, func() bool { return s.reads.Load() >= reads+20 }, 30*time.Second, time.Millisecond)
	// The factor 2: a reading may have been counted before its frames are taken.
	require.LessOrEqual(t, total(frames)-sent, 2*100*(s.reads.Load()-reads+1), "beyond the first, listeners get frames in turn")
	end()
	require.False(t, s.twice.Load())
	require.Eventually(t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return !f.reading }, 30*time.Second, time.Millisecond)
	reads = s.reads.Load()
	time.Sleep(100 * time.Millisecond)
	require.Equal(t, reads, s.reads.Load(), "nobody listens")

	frames, end = watchers(t, f, 1)
	require.Eventually(t, func() bool { return total(frames) > 2 }, 30*time.Second, time.Millisecond, "it begins anew")
	end()
	require.NoError(t, f.Close())
}

// TestListenerThatFailsEnds: an error of its write ends a listener's watch.
func TestListenerThatFailsEnds(t *testing.T) {
	f := New((&source{}).read, Limits{Every: time.Millisecond})
	stop := errors.New("enough")
	require.ErrorIs(t, f.Watch(t.Context(), func([]byte) error { return stop }), stop)
	require.NoError(t, f.Close())
}

// TestASlowListenerHoldsNobody: a slow listener misses frames, and gets the newest one
// when it is ready. The other listeners get all frames.
func TestASlowListenerHoldsNobody(t *testing.T) {
	var reads atomic.Int64
	f := New(func(context.Context) ([]draw.Overview, error) {
		p := some()
		p[0].Version = reads.Add(1)
		return p, nil
	}, Limits{Every: time.Millisecond})
	frames, end := watchers(t, f, 3)
	ctx, cancel := context.WithCancel(context.Background())
	entered, goOn, seen := make(chan struct{}), make(chan struct{}), make(chan string, 2)
	hold := sync.OnceFunc(func() { close(entered); <-goOn })
	var slow sync.WaitGroup
	slow.Go(func() {
		_ = f.Watch(ctx, func(frame []byte) error {
			hold()
			select {
			case seen <- string(frame):
			default:
			}
			return nil
		})
	})
	<-entered
	before := total(frames)
	require.Eventually(t, func() bool { return total(frames) > before+300 }, time.Minute, time.Millisecond)
	least := reads.Load() - 2
	close(goOn)
	require.Contains(t, <-seen, `"version":`)
	require.GreaterOrEqual(t, versionIn(t, <-seen), least, "the newest, not the next")
	cancel()
	slow.Wait()
	end()
	require.NoError(t, f.Close())
}

func versionIn(t *testing.T, frame string) int64 {
	t.Helper()
	var f struct{ Pools []struct{ Version int64 } }
	require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(frame, "data: ")), &f))
	return f.Pools[0].Version
}

// TestCloseEndsAll: closing the feed ends all listeners, and a reading that hangs.
func TestCloseEndsAll(t *testing.T) {
	hangs := make(chan struct{})
	f := New(func(ctx context.Context) ([]draw.Overview, error) {
		close(hangs)
		<-ctx.Done()
		return nil, ctx.Err()
	}, Limits{})
	_, end := watchers(t, f, 5)
	<-hangs
	require.NoError(t, f.Close())
	end()
	require.NoError(t, f.Watch(t.Context(), nil), "closed")
}

// TestFailuresAreShown: a frame states why there are no pools, and the next reading takes
// place nevertheless.
func TestFailuresAreShown(t *testing.T) {
	fails, taken := true, make(chan struct{}, 2)
	taken <- struct{}{}
	f := New(func(ctx context.Context) ([]draw.Overview, error) {
		select {
		case <-taken: // otherwise a slow listener would miss the previous frame
		case <-ctx.Done():
		}
		defer func() { fails = !fails }()
		if fails {
			return nil, draw.Errorf(draw.CodeStoreUnavailable, "secret host")
		}
		return some(), nil
	}, Limits{Every: time.Millisecond})
	ctx, cancel := context.WithCancel(t.Context())
	var got []string
	require.NoError(t, f.Watch(ctx, func(frame []byte) error {
		if got = append(got, string(frame)); len(got) == 2 {
			cancel()
			return nil
		}
		taken <- struct{}{}
		return nil
	}))
	require.Regexp(t, `^data: \{"at":"[^"]+","code":"store-unavailable","pools":null\}\n\n$`, got[0])
	require.Regexp(t, `^data: \{"at":"[^"]+","pools":\[\{"id":"spring",.*"remaining":6,.*"prizes":\[\{"id":"gold",.*\]\}\]\}\n\n$`, got[1])
	require.NoError(t, f.Close())
}
