package http

import (
	"context"

	"golang.org/x/sync/semaphore"

	"drawsvc/internal/draw"
)

const (
	// publicLogsMax is how many revealed logs are sent at once, and proofsMax how many
	// receipts are proven. Whoever comes then waits.
	publicLogsMax = 8
	proofsMax     = 1
	// answerShort is the longest answer that is not counted, in bytes.
	answerShort = 64 << 10
)

// bounds is what calls share, so that no number of callers uses up the memory or the
// connections to the database, and no rank what a higher one needs.
type bounds struct {
	// reads are the calls that read the database at once, beside the draws: the
	// connections for reads. changes are those that change it: one of its connections
	// is left for the service itself.
	reads, changes *shares
	// longChanges are those that may read or write a whole log. The connections that are
	// left remain for draws and short changes.
	longChanges *shares
	// streams are audits and exports. They read for as long as their caller takes,
	// which has a pace to keep to.
	streams *shares
	// listeners are the streams of events.
	listeners *shares
	// simulations use a processor each.
	simulations *shares
	// imports are the files that arrive or are imported. Of these one is at work:
	// importing.
	imports   *shares
	importing *semaphore.Weighted
	// answers bounds the bytes of all long answers that are being sent: a caller that
	// reads slowly holds its answer until the write timeout.
	answers *shares
	// publicLogs and proofs are those of publicLogsMax and proofsMax.
	publicLogs, proofs *semaphore.Weighted
}

// readsUsual is the number of connections for reads where the Config names none.
const readsUsual = 5

// newBounds returns the bounds of a server with at most so many connections of
// callers, and of the database for reads.
func newBounds(connections, reads int) bounds {
	n, m := int64(connections), int64(reads)
	return bounds{
		reads:       newShares([ranks]int64{m - 3, m - 2, m - 1, m}),
		changes:     newShares([ranks]int64{0, 0, 2, 3}),
		longChanges: newShares([ranks]int64{0, 0, 0, 2}),
		streams:     newShares([ranks]int64{0, 2, 3, 4}),
		listeners:   newShares([ranks]int64{0, max(1, n/4), max(2, 3*n/8), max(3, n/2)}),
		simulations: newShares([ranks]int64{0, 1, 2, 3}),
		imports:     newShares([ranks]int64{0, 0, 1, 2}),
		importing:   semaphore.NewWeighted(1),
		answers:     newShares([ranks]int64{16 << 20, 32 << 20, 48 << 20, 64 << 20}),
		publicLogs:  semaphore.NewWeighted(publicLogsMax),
		proofs:      semaphore.NewWeighted(proofsMax),
	}
}

// place waits for a place among the calls that use the database beside the draws,
// until done is called. Error: CodeOverloaded when ctx ends first.
func (c call) place(ctx context.Context) (done func(), err error) {
	places := c.server.bounds.changes
	if c.isRead() {
		places = c.server.bounds.reads
	}
	done, err = places.wait(ctx, c.rank())
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
	leave, err := c.server.bounds.longChanges.wait(waiting, c.rank())
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
func (c call) take(of *shares, n int64, detail string) (done func(), err error) {
	done, ok := of.try(c.rank(), n)
	if !ok {
		return nil, draw.Errorf(draw.CodeOverloaded, "%s", detail)
	}
	return done, nil
}

// streamed is a handler of an audit or an export, of which few run at once.
func streamed(handle handler) handler {
	return func(c call) error {
		//double:unbounded c.server.bounds.streams => newShares([ranks]int64{1 << 20, 1 << 20, 1 << 20, 1 << 20})
		done, err := c.take(c.server.bounds.streams, 1, "as many audits and exports run already as this token may run at once")
		if err != nil {
			return err
		}
		defer done()
		return handle(c)
	}
}

// queued is a handler of which few run at once, and the others wait for their turn.
func queued(of func(*bounds) *semaphore.Weighted, handle handler) handler {
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

func publicLogs(b *bounds) *semaphore.Weighted { return b.publicLogs }
func proofs(b *bounds) *semaphore.Weighted     { return b.proofs }

// room makes room for an answer of n bytes until done is called. Error:
// CodeOverloaded.
func (c call) room(n int) (done func(), err error) {
	if n <= answerShort {
		return func() {}, nil
	}
	return c.take(c.server.bounds.answers, int64(n), "as many bytes of long answers are being sent already as this token may ask for at once")
}
