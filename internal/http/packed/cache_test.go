package packed

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"drawsvc/internal/draw"
)

// TestCacheReadsOnceAndEvicts tests which answers are read, kept and dropped.
func TestCacheReadsOnceAndEvicts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, copiesAreKept)
}

func copiesAreKept(t *testing.T) {
	var reading, most, reads atomic.Int64
	answers := sync.Map{}
	c := NewCache(func(_ context.Context, id string) ([]byte, error) {
		most.Store(max(most.Load(), reading.Add(1)))
		defer reading.Add(-1)
		reads.Add(1)
		time.Sleep(time.Millisecond)
		if answer, ok := answers.Load(id); ok {
			if err, failed := answer.(error); failed {
				return nil, err
			}
			return []byte(answer.(string)), nil
		}
		return []byte("of " + id), nil
	})
	const placesMax = 2
	places := semaphore.NewWeighted(placesMax)
	place := func(ctx context.Context) (func(), error) {
		return func() { places.Release(1) }, places.Acquire(ctx, 1)
	}
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			answer, err := c.Get(t.Context(), fmt.Sprint("p", i%20), place)
			if err != nil || string(answer.plain) != fmt.Sprint("of p", i%20) {
				t.Errorf("%v %v", answer, err)
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, most.Load(), int64(placesMax))

	answers.Store("none", error(draw.Errorf(draw.CodePoolNotFound, "no")))
	answers.Store("down", errors.New("down"))
	for range 3 {
		_, err := c.Get(t.Context(), "none", place)
		require.Equal(t, draw.CodePoolNotFound, draw.CodeOf(err))
	}
	begun := reads.Load()
	_, _ = c.Get(t.Context(), "none", place)
	require.Equal(t, begun, reads.Load(), "that there is no such pool is kept too")
	for range 2 {
		_, err := c.Get(t.Context(), "down", place)
		require.Error(t, err)
	}
	require.Equal(t, begun+2, reads.Load(), "that the database is away is not")

	equal, err := c.Get(t.Context(), "p1", place)
	require.NoError(t, err)
	time.Sleep(KeptFor)
	same, err := c.Get(t.Context(), "p1", place)
	require.NoError(t, err)
	require.Same(t, equal, same, "slow readers of an unchanged pool share one copy")

	answers.Store("big", strings.Repeat("b", copiesBytesMax))
	_, err = c.Get(t.Context(), "big", place)
	require.NoError(t, err)
	require.Len(t, c.kept, 1)
	for i := range 3 * copiesMax {
		c.of(fmt.Sprint("x", i))
	}
	require.LessOrEqual(t, len(c.kept), copiesMax)
	require.LessOrEqual(t, c.bytes, copiesBytesMax)
}

// free grants a place at once.
func free(context.Context) (func(), error) { return func() {}, nil }

// TestCopyReadBeforeAChange: a copy that was read before a change is not shown after
// it.
func TestCopyReadBeforeAChange(t *testing.T) {
	t.Parallel()
	answer := "before"
	var c *Cache
	c = NewCache(func(context.Context, string) ([]byte, error) {
		read := answer
		if read == "before" {
			answer = "after"
			c.Drop("p") // the change ends while the pool is read
		}
		return []byte(read), nil
	})
	_, err := c.Get(t.Context(), "p", free)
	require.NoError(t, err)
	answered, err := c.Get(t.Context(), "p", free)
	require.NoError(t, err)
	require.Equal(t, "after", string(answered.plain))
}
