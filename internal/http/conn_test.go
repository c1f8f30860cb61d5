package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/conns"
)

// habit is how a server such as net/http watches a connection: it calls the connection's
// read with a buffer of one byte.
type habit func(read func([]byte) (int, error), one []byte) (int, error)

// spy is between net/http and a conn. It counts the one-byte reads of net/http, the
// watches that have ended, and all reads that wait on the network.
type spy struct {
	net.Conn
	habit                    habit
	asked, answered, waiting atomic.Int32
}

func (s *spy) Read(b []byte) (int, error) {
	if len(b) != 1 {
		return s.Conn.Read(b)
	}
	defer s.answered.Add(1) // everything that the habit reads has been counted
	return s.habit(func(b []byte) (int, error) {
		s.asked.Add(1)
		return s.Conn.Read(b)
	}, b)
}

// network is the connection below a spy's conn.
type network struct {
	net.Conn
	spy *spy
}

func (n network) Read(b []byte) (int, error) {
	n.spy.waiting.Add(1)
	defer n.spy.waiting.Add(-1)
	return n.Conn.Read(b)
}

// spying is a listener that makes spies.
type spying struct {
	net.Listener
	habit habit
	made  chan *spy
}

func (l spying) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	s := &spy{habit: l.habit}
	s.Conn = &conns.Conn{Conn: network{accepted, s}}
	l.made <- s
	return s, nil
}

// contextual is a store that reads pools until the context ends.
type contextual struct{ fakeStore }

func (c contextual) Pool(ctx context.Context, id string) (draw.Pool, error) {
	return somePool(id), ctx.Err()
}

// judgeWatch returns the faults of a server's way to watch. The watch of a draw must try
// once to read one byte, accept that it gets none, and not change the connection.
func judgeWatch(t *testing.T, h habit) error {
	f, started, letGo := held()
	s := newServer(t, f, func(c *Config) { c.Store = contextual{fakeStore{f}} })
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := spying{inner, h, make(chan *spy, 2)}
	server := &nethttp.Server{
		Handler:     s.Handler(),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return conns.With(ctx, c.(*spy).Conn) },
	}
	go func() { _ = server.Serve(l) }()
	defer server.Close()

	caller, url, answers := ownClient(t), "http://"+inner.Addr().String(), make(chan answered, 1)
	go func() { answers <- postDraw(caller, url) }()
	<-started // the body has been read to its end, and then a watch begins
	spied := <-l.made
	watched := func() bool { return spied.answered.Load() > 0 || spied.waiting.Load() > 0 }
	require.Eventually(t, watched, 30*time.Second, time.Millisecond, "net/http does not watch connections as it did")
	if spied.waiting.Load() > 0 {
		err = errors.New("a read waits on the connection while its draw is decided")
	}
	close(letGo)
	if answer := <-answers; err != nil || answer.status != nethttp.StatusOK {
		return errors.Join(err, answer.err)
	}
	if n := spied.asked.Load(); n != 1 {
		return fmt.Errorf("%d reads for the watch of one draw", n)
	}
	if answer := get(caller, url+"/pools/p"); answer.status != nethttp.StatusOK {
		return fmt.Errorf("the next call on the connection is answered %d: %s", answer.status, answer.body)
	}
	if len(l.made) > 0 {
		return errors.New("the connection was not kept")
	}
	return nil
}

// TestNetHTTPWatchesByOneByte checks the habit of net/http that conn.Read relies on and
// that no documentation promises. If it fails after an update of Go, conn.go must be
// adapted or removed.
func TestNetHTTPWatchesByOneByte(t *testing.T) {
	require.NoError(t, judgeWatch(t, func(read func([]byte) (int, error), one []byte) (int, error) { return read(one) }))
}

// TestWatchJudgeCatchesOtherHabits: judgeWatch rejects servers that watch in other
// ways.
func TestWatchJudgeCatchesOtherHabits(t *testing.T) {
	for about, h := range map[string]habit{
		"a read waits": func(read func([]byte) (int, error), one []byte) (int, error) {
			two := make([]byte, 2)
			n, err := read(two)
			return copy(one, two[:n]), err
		},
		"3 reads": func(read func([]byte) (int, error), one []byte) (n int, err error) {
			for range 3 {
				n, err = read(one)
			}
			return n, err
		},
		"the next call": func(read func([]byte) (int, error), one []byte) (int, error) {
			n, err := read(one)
			if n == 0 && err == nil {
				err = io.ErrNoProgress
			}
			return n, err
		},
	} {
		require.ErrorContains(t, judgeWatch(t, h), about)
	}
}

// waitingStore is a store that reads a pool until the caller has disconnected.
type waitingStore struct {
	fakeStore
	begun, ended chan struct{}
}

func (w waitingStore) Pool(ctx context.Context, _ string) (draw.Pool, error) {
	close(w.begun)
	<-ctx.Done()
	close(w.ended)
	return draw.Pool{}, ctx.Err()
}

// TestOtherCallsAreWatched: if a caller disconnects, the work on its call ends.
func TestOtherCallsAreWatched(t *testing.T) {
	f := &fake{}
	store := waitingStore{fakeStore{f}, make(chan struct{}), make(chan struct{})}
	addr := served(t, newServer(t, f, func(c *Config) { c.Store, c.RequestTimeout = store, time.Hour }))
	caller, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	_, err = io.WriteString(caller, "GET /pools/p HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	<-store.begun
	require.NoError(t, caller.Close())
	select {
	case <-store.ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the work went on without its caller")
	}
}
