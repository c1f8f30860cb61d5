package http

import (
	"context"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
)

// place waits for a place among the calls, other than draws, that use the database. done
// gives the place back. Error: CodeOverloaded if ctx ends first.
func (c call) place(ctx context.Context) (done func(), err error) {
	places := c.server.bounds.Changes
	switch {
	case c.isRead():
		places = c.server.bounds.Reads
	case c.route.role == roleDraw:
		places = c.server.bounds.Claims
	}
	done, err = places.Wait(ctx, gate.RankOf(c.caller.Role))
	return done, overloaded(err)
}

// begin gives a short call its timeout and its place among the calls that use the
// database; done gives them back. Error: CodeOverloaded.
func (c call) begin() (ctx context.Context, done func(), err error) {
	ctx, cancel := c.within(c.server.RequestTimeout)
	leave, err := c.place(ctx)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return ctx, func() { leave(); cancel() }, nil
}

// beginLong begins a change that may read or write a whole log. The change gets the
// timeout of an audit, and a place among such changes; done gives both back. It waits for
// the place up to the request timeout. Error: CodeOverloaded.
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

// placed runs do, the work of a short call, and returns its result. The work holds a
// place among the calls that use the database, and has the request timeout. Errors: those
// of do, and CodeOverloaded.
func placed[Out any](c call, do func(context.Context) (Out, error)) (Out, error) {
	ctx, cancel := c.within(c.server.RequestTimeout)
	defer cancel()
	return placedIn(ctx, c, func() (Out, error) { return do(ctx) })
}

// placedIn is like placed, with the timeout of ctx.
func placedIn[Out any](ctx context.Context, c call, do func() (Out, error)) (out Out, err error) {
	done, err := c.place(ctx)
	if err != nil {
		return out, err
	}
	defer done()
	return do()
}

// overloaded wraps the error of a wait that was given up. It returns nil for nil.
func overloaded(err error) error {
	if err == nil {
		return nil
	}
	return draw.Wrap(draw.CodeOverloaded, err, "so many calls of this kind are at work that this one did not begin in time")
}

// take takes n places of a bound for a call. Error: CodeOverloaded with the detail if
// they are not free.
func (c call) take(of *gate.Shares, n int64, detail string) (done func(), err error) {
	done, ok := of.Try(gate.RankOf(c.caller.Role), n)
	if !ok {
		return nil, draw.Errorf(draw.CodeOverloaded, "%s", detail)
	}
	return done, nil
}

// streamed returns a handler of an audit or an export; few of them run at once.
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

// queued returns a handler that runs only a few calls at once; the others wait for their
// turn.
func queued(of func(*gate.Bounds) *gate.Shares, handle handler) handler {
	return func(c call) error {
		ctx, cancel := c.within(c.server.RequestTimeout)
		defer cancel()
		done, err := of(&c.server.bounds).Wait(ctx, gate.RankOf(c.caller.Role))
		if err != nil {
			return overloaded(err)
		}
		defer done()
		return handle(c)
	}
}

func publicLogs(b *gate.Bounds) *gate.Shares { return b.PublicLogs }
func proofs(b *gate.Bounds) *gate.Shares     { return b.Proofs }

// answerShort is the maximum size of an answer for which no memory is reserved, in bytes.
const answerShort = 64 << 10

// room reserves memory for an answer of n bytes until done is called. Error:
// CodeOverloaded.
func (c call) room(n int) (done func(), err error) {
	if n <= answerShort {
		return func() {}, nil
	}
	return c.take(c.server.bounds.Answers, int64(n), "as many bytes of long answers are being sent already as this token may ask for at once")
}

// limits bound the time and size of every connection.
type limits struct {
	header, read, write, idle time.Duration
	// draws is the maximum wait at shutdown for draws under way. rest is the maximum wait
	// for everything else after that. Together they are below the 15 s that operators are
	// promised.
	draws, rest time.Duration
	// linger is how long the rest of a body is read after the answer.
	linger time.Duration
	// audit is the timeout of an audit. page is the time for sending the first page of an
	// export, and pace the additional time for each further page.
	audit, page, pace time.Duration
}

// headerBytesMax is the maximum size of the request line and headers; net/http adds 4
// KiB.
const headerBytesMax = 16 << 10

func defaultLimits(request time.Duration) limits {
	return limits{
		header: 5 * time.Second,
		read:   10 * time.Second,
		// The write timeout begins when the headers were read. It covers the rest of the
		// body, the work and the answer.
		write:  request + 20*time.Second,
		idle:   2 * time.Minute,
		draws:  9500 * time.Millisecond,
		rest:   4 * time.Second,
		linger: 2 * time.Second,
		audit:  max(request, time.Minute),
		page:   30 * time.Second,
		pace:   2 * time.Second,
	}
}
