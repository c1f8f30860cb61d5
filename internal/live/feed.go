package live

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw"
)

// Limits bound a Feed. A zero member means its default.
type Limits struct {
	// Every is the minimum time between two readings; default 1 s.
	Every time.Duration
	// ReadMax bounds one reading; default 10 s.
	ReadMax time.Duration
	// Frames and Bytes limit what all listeners together are sent after one reading; default
	// 1000 and 8 MiB. A listener's first frame does not count.
	Frames, Bytes int
}

func (l *Limits) withDefaults() Limits {
	return Limits{
		Frames: cmp.Or(l.Frames, 1000), Bytes: cmp.Or(l.Bytes, 8<<20),
		Every: cmp.Or(l.Every, time.Second), ReadMax: cmp.Or(l.ReadMax, 10*time.Second),
	}
}

// restPerRead is the minimum pause after a reading, as a multiple of the reading's
// duration. So even many pools use only a tenth of one connection.
const restPerRead = 9

// Read returns the pools, at most PoolsMax of them.
type Read func(ctx context.Context) ([]draw.Overview, error)

// Feed shows the pools to many listeners.
type Feed struct {
	read   Read
	limits Limits
	closed chan struct{}
	ended  sync.WaitGroup
	frame  atomic.Pointer[[]byte]

	mu        sync.Mutex // guards the fields below
	listeners []*listener
	// turn is the index of the listener that was woken last in rotation.
	turn    int
	reading bool
}

// listener is one caller of Watch. wake contains a token while a frame waits for it.
type listener struct {
	wake chan struct{}
	at   int // index in listeners
	// served means that the listener has been sent a frame.
	served bool
}

// New returns a feed of the pools that read returns. It must be closed.
func New(read Read, limits Limits) *Feed {
	return &Feed{read: read, limits: limits.withDefaults(), closed: make(chan struct{})}
}

// Close ends the reader and all calls of Watch. It is called once.
func (f *Feed) Close() error {
	f.mu.Lock()
	close(f.closed)
	f.mu.Unlock()
	f.ended.Wait()
	return nil
}

// Watch calls write with frames until ctx ends, the feed is closed, or write returns an
// error. It returns that error. A frame is one event of text/event-stream, shared with
// other listeners: write must not change it. The caller bounds the number of listeners.
func (f *Feed) Watch(ctx context.Context, write func(frame []byte) error) error {
	l := f.join()
	defer f.leave(l)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f.closed:
			return nil
		case <-l.wake:
			if err := write(*f.frame.Load()); err != nil {
				return err
			}
		}
	}
}

func (f *Feed) join() *listener {
	f.mu.Lock()
	defer f.mu.Unlock()
	l := &listener{wake: make(chan struct{}, 1), at: len(f.listeners)}
	f.listeners = append(f.listeners, l)
	switch {
	case f.isClosed():
	case !f.reading:
		f.reading = true
		f.frame.Store(nil) // it is outdated
		f.ended.Go(f.run)
	case f.frame.Load() != nil:
		l.notify()
	}
	return l
}

// leave removes a listener, and moves the last one to its index.
func (f *Feed) leave(l *listener) {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.listeners[len(f.listeners)-1]
	f.listeners[l.at], last.at = last, l.at
	f.listeners = f.listeners[:len(f.listeners)-1]
}

func (l *listener) notify() {
	l.served = true
	select {
	case l.wake <- struct{}{}:
	default: // the listener has not taken the previous frame; it will find the newest one
	}
}

func (f *Feed) isClosed() bool {
	select {
	case <-f.closed:
		return true
	default:
		return false
	}
}

// run reads until nobody listens.
func (f *Feed) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f.ended.Go(func() {
		select {
		case <-f.closed:
			cancel()
		case <-ctx.Done():
		}
	})
	past := newPast()
	for f.isWanted() {
		begin := time.Now()
		frame := f.next(ctx, past)
		if ctx.Err() != nil {
			return
		}
		f.frame.Store(&frame)
		f.wake(len(frame))
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(f.limits.Every-time.Since(begin), restPerRead*time.Since(begin))):
		}
	}
}

// isWanted reports whether somebody listens; if not, the reader ends.
func (f *Feed) isWanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reading = len(f.listeners) > 0 && !f.isClosed()
	return f.reading
}

// next reads the pools and encodes them as a frame.
func (f *Feed) next(ctx context.Context, past *past) []byte {
	ctx, cancel := context.WithTimeout(ctx, f.limits.ReadMax)
	defer cancel()
	pools, err := f.read(ctx)
	now := time.Now()
	if err != nil {
		return encodeFailure(err, now)
	}
	past.add(pools, now)
	return encode(pools, past, now)
}

// wake wakes as many listeners, in rotation, as the limits allow for a frame of this
// length. It also wakes all listeners that have had no frame yet.
func (f *Feed) wake(bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(f.limits.Frames, max(1, f.limits.Bytes/max(1, bytes)), len(f.listeners))
	for range n {
		f.turn = (f.turn + 1) % len(f.listeners)
		f.listeners[f.turn].notify()
	}
	for _, l := range f.listeners {
		if !l.served {
			l.notify()
		}
	}
}
