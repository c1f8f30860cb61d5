package http

import (
	"context"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drawsvc/internal/draw"
)

// serveUntilEnd serves until the test ends and then checks the drain.
func serveUntilEnd(t *testing.T, s *Server, l net.Listener) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
}

// running is a server that the test itself ends.
type running struct {
	url  string
	end  context.CancelFunc
	done chan error
}

func run(t *testing.T, s *Server) running {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return runOn(t, s, l)
}

func runOn(t *testing.T, s *Server, l net.Listener) running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	r := running{"http://" + l.Addr().String(), cancel, make(chan error, 1)}
	go func() { r.done <- s.Serve(ctx, l) }()
	return r
}

// ownClient returns a client with its own connections, so that no idle connection
// remains in a shared client.
func ownClient(t *testing.T) *nethttp.Client {
	t.Helper()
	transport := &nethttp.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &nethttp.Client{Transport: transport, Timeout: time.Minute}
}

// answered is the result of a call, read to its end.
type answered struct {
	status int
	// last means that the connection is closed after this answer.
	last bool
	body string
	err  error
}

func ask(c *nethttp.Client, r *nethttp.Request) answered {
	answer, err := c.Do(r)
	if err != nil {
		return answered{err: err}
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answered{answer.StatusCode, answer.Close, string(body), err}
}

func get(c *nethttp.Client, url string) answered {
	r, err := nethttp.NewRequest(nethttp.MethodGet, url, nil)
	if err != nil {
		return answered{err: err}
	}
	return ask(c, r)
}

func postDraw(c *nethttp.Client, url string) answered {
	r, err := nethttp.NewRequest(nethttp.MethodPost, url+"/draw", strings.NewReader(`{"pool":"p","user":"u"}`))
	if err != nil {
		return answered{err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	return ask(c, r)
}

// held returns a service whose draws wait until they are released.
func held() (f *fake, started, letGo chan struct{}) {
	started, letGo = make(chan struct{}, 16), make(chan struct{})
	f = &fake{drawn: func(ctx context.Context, r draw.Request) (draw.Draw, error) {
		started <- struct{}{}
		select {
		case <-letGo:
			return draw.Draw{ID: r.DrawID, PoolID: r.PoolID, UserID: r.UserID}, nil
		case <-ctx.Done():
			return draw.Draw{}, ctx.Err()
		}
	}}
	return f, started, letGo
}

func TestDrain(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	f, started, letGo := held()
	s := newServer(t, f)
	s.limits.draws = time.Minute // the draw is released before that
	server, caller := run(t, s), ownClient(t)
	defer caller.CloseIdleConnections()

	answers := make(chan answered, 1)
	go func() { answers <- postDraw(caller, server.url) }()
	<-started
	server.end()
	require.Eventually(t, func() bool { draining, _ := f.drained(); return draining }, 30*time.Second, time.Millisecond)

	refused := postDraw(caller, server.url)
	require.Equal(t, 503, refused.status)
	require.True(t, refused.last, "go elsewhere")
	require.Contains(t, refused.body, `"code":"draining","outcome":"none"`)
	for path, status := range map[string]int{"/readyz": 503, "/livez": 200, "/pools/p": 200} {
		require.Equal(t, status, get(caller, server.url+path).status, path)
	}
	select {
	case <-server.done:
		require.Fail(t, "it must wait for the draw under way")
	default:
	}
	close(letGo)
	answer := <-answers
	require.Equal(t, 200, answer.status)
	require.Contains(t, answer.body, `"user":"u"`)
	require.NoError(t, <-server.done)
	require.Error(t, get(caller, server.url+"/livez").err, "nobody listens any more")
}

func TestDrainIsBounded(t *testing.T) {
	f, started, letGo := held()
	s := newServer(t, f, func(c *Config) { c.RequestTimeout = time.Minute })
	require.Less(t, s.limits.draws+s.limits.rest, 15*time.Second)
	s.limits.draws, s.limits.rest = 100*time.Millisecond, 100*time.Millisecond
	server, caller := run(t, s), ownClient(t)
	answers := make(chan answered, 1)
	go func() { answers <- postDraw(caller, server.url) }()
	<-started
	begin := time.Now()
	server.end()
	require.NoError(t, <-server.done)
	require.Less(t, time.Since(begin), 30*time.Second)
	require.Error(t, (<-answers).err)
	close(letGo)
	require.Eventually(t, func() bool { _, underWay := f.drained(); return underWay == 0 },
		30*time.Second, time.Millisecond, "what was cut off ends by itself")
}

func TestDrainOfAnIdleServerIsQuick(t *testing.T) {
	s := newServer(t, &fake{})
	s.limits.draws, s.limits.rest = time.Minute, time.Minute
	server, caller := run(t, s), ownClient(t)
	require.Equal(t, 200, postDraw(caller, server.url).status, "and an idle connection stays")
	begin := time.Now()
	server.end()
	require.NoError(t, <-server.done)
	require.Less(t, time.Since(begin), 30*time.Second)
}

func TestServeOnAClosedListenerFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.Error(t, newServer(t, &fake{}).Serve(context.Background(), l))
}

// TestDrawsAtTheMomentOfTheDrain: every draw is either answered or rejected as
// draining, and none is left under way.
func TestDrawsAtTheMomentOfTheDrain(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	server := run(t, s)
	codes := make(chan string, 4000)
	done := make(chan struct{})
	for range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			caller := ownClient(t)
			for range 500 {
				answer := postDraw(caller, server.url)
				switch {
				case answer.err != nil:
					return // the listener is closed
				case answer.status == nethttp.StatusOK:
					codes <- "ok"
				case strings.Contains(answer.body, `"code":"draining"`):
					codes <- "draining"
				default:
					codes <- answer.body
				}
			}
		}()
	}
	time.Sleep(50 * time.Millisecond)
	server.end()
	require.NoError(t, <-server.done)
	for range 8 {
		<-done
	}
	close(codes)
	for code := range codes {
		require.Contains(t, []string{"ok", "draining"}, code)
	}
	_, underWay := f.drained()
	require.Zero(t, underWay)
}
