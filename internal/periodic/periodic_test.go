package periodic_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"drawsvc/internal/periodic"

	"github.com/stretchr/testify/require"
)

func TestStartCallsAtOnceAndOncePerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		stop := periodic.Start(time.Second, func(context.Context) { calls.Add(1) })
		synctest.Wait()
		require.EqualValues(t, 1, calls.Load())
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.EqualValues(t, 4, calls.Load())
		stop()
		time.Sleep(time.Minute)
		require.EqualValues(t, 4, calls.Load(), "no call after stop")
		stop() // may be called again
	})
}

func TestStopEndsTheCurrentCallAndWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		returned := false
		stop := periodic.Start(time.Second, func(ctx context.Context) {
			<-ctx.Done()
			time.Sleep(time.Minute) // cleans up
			returned = true
		})
		synctest.Wait()
		stop()
		require.True(t, returned)
	})
}

func TestCallsDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, overlaps atomic.Int64
		stop := periodic.Start(time.Second, func(context.Context) {
			if running.Add(1) > 1 {
				overlaps.Add(1)
			}
			time.Sleep(5 * time.Second)
			running.Add(-1)
		})
		time.Sleep(time.Minute)
		stop()
		require.Zero(t, overlaps.Load())
	})
}
