package periodic

import (
	"context"
	"time"
)

// Start calls do at once and then once per interval, which is positive, in a
// goroutine of its own. Calls never overlap: a call that takes longer than the
// interval delays the next one. stop ends the context of the current call,
// waits until that call has returned, and may be called more than once.
func Start(interval time.Duration, do func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for ctx.Err() == nil {
			do(ctx)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-ended }
}
