package http

import (
	"context"

	"golang.org/x/sync/semaphore"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
)

// place waits for a place among the calls that use the database beside the draws,
// until done is called. Error: CodeOverloaded when ctx ends first.
func (c call) place(ctx context.Context) (done func(), err error) {
	places := c.server.bounds.Changes
	if c.isRead() {
		places = c.server.bounds.Reads
	}
	done, err = places.Wait(ctx, gate.RankOf(c.caller.Role))
	return done, overloaded(err)
}

// begin gives a short call its time and its place among the calls that use the database,
// until done is called. Error: CodeOverloaded.
func (c call) begin() (ctx context.Context, done func(), err error) {
	ctx, cancel := c.within(c.server.RequestTimeout)
	leave, err := c.place(ctx)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return ctx, func() { leave(); cancel() }, nil
}

// beginLong gives a change that may read or write a whole log the time of an audit, and a
// place among such changes, until done is called. It waits for the place as long as a
// request may take. Error: CodeOverloaded.
func (c call) beginLong() (ctx context.Context, done func(), err error) {
	waiting, stop := c.within(c.server.RequestTimeout)
	defer stop()
	leave, err := c.server.bounds.LongChanges.Wait(waiting, gate.RankOf(c.caller.Role))
	if err != nil {
		return nil, nil, overloaded(err)
	}
	ctx, cancel := c.wholeLog()
	return ctx, func() { cancel(); leave() }, nil
}

// placed is what do returns, which has a place of the database meanwhile. Errors:
// those of do, and CodeOverloaded.
func placed[Out any](ctx context.Context, c call, do func() (Out, error)) (out Out, err error) {
	done, err := c.place(ctx)
	if err != nil {
		return out, err
	}
	defer done()
	return do()
}

// overloaded is the error of a wait that was given up, nil for nil.
func overloaded(err error) error {
	if err == nil {
		return nil
	}
	return draw.Wrap(draw.CodeOverloaded, err, "so many calls of this kind are at work that this one did not begin in time")
}

// take takes n places of a bound for a call. Error: CodeOverloaded with the detail
// where they are not free.
func (c call) take(of *gate.Shares, n int64, detail string) (done func(), err error) {
	done, ok := of.Try(gate.RankOf(c.caller.Role), n)
	if !ok {
		return nil, draw.Errorf(draw.CodeOverloaded, "%s", detail)
	}
	return done, nil
}

// streamed is a handler of an audit or an export, of which few run at once.
func streamed(handle handler) handler {
	return func(c call) error {
		//double:unbounded c.server.bounds.Streams => gate.NewShares([gate.Ranks]int64{1 << 20, 1 << 20, 1 << 20, 1 << 20})
		done, err := c.take(c.server.bounds.Streams, 1, "as many audits and exports run already as this token may run at once")
		if err != nil {
			return err
		}
		defer done()
		return handle(c)
	}
}

// queued is a handler of which few run at once, and the others wait for their turn.
func queued(of func(*gate.Bounds) *semaphore.Weighted, handle handler) handler {
	return func(c call) error {
		ctx, cancel := c.within(c.server.RequestTimeout)
		defer cancel()
		turns := of(&c.server.bounds)
		if err := turns.Acquire(ctx, 1); err != nil {
			return overloaded(err)
		}
		defer turns.Release(1)
		return handle(c)
	}
}

func publicLogs(b *gate.Bounds) *semaphore.Weighted { return b.PublicLogs }
func proofs(b *gate.Bounds) *semaphore.Weighted     { return b.Proofs }

// answerShort is the longest answer that is not counted, in bytes.
const answerShort = 64 << 10

// room makes room for an answer of n bytes until done is called. Error:
// CodeOverloaded.
func (c call) room(n int) (done func(), err error) {
	if n <= answerShort {
		return func() {}, nil
	}
	return c.take(c.server.bounds.Answers, int64(n), "as many bytes of long answers are being sent already as this token may ask for at once")
}
