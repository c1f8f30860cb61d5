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

// running is a server that the test ends itself.
type running struct {
	url  string
	end  context.CancelFunc
	done chan error
}

func run(t *testing.T, s *Server) running {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	r := running{"http://" + l.Addr().String(), cancel, make(chan error, 1)}
	go func() { r.done <- s.Serve(ctx, l) }()
	return r
}

// client has connections of its own, so that none is left idle elsewhere.
func client(t *testing.T) *nethttp.Client {
	t.Helper()
	transport := &nethttp.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &nethttp.Client{Transport: transport, Timeout: 10 * time.Second}
}

func postDraw(t *testing.T, c *nethttp.Client, url string) *nethttp.Response {
	t.Helper()
	r, err := c.Post(url+"/draw", "application/json", strings.NewReader(`{"pool":"p","user":"u"}`))
	require.NoError(t, err)
	return r
}

// held is a service whose draws wait until they are let go.
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
	s := newServer(t, f, func(c *Config) { c.RequestTimeout = 5 * time.Second })
	server, caller := run(t, s), client(t)
	defer caller.CloseIdleConnections()

	answers := make(chan *nethttp.Response, 1)
	go func() { answers <- postDraw(t, caller, server.url) }()
	<-started
	server.end()
	require.Eventually(t, s.gate.closed, time.Second, time.Millisecond)

	refused := postDraw(t, caller, server.url)
	require.True(t, refused.Close, "go elsewhere")
	p := problemIn(t, refused)
	require.Equal(t, "draining", p.Code)
	require.Equal(t, "none", p.Outcome)
	for path, status := range map[string]int{"/readyz": 503, "/livez": 200, "/pools/p": 200} {
		r, err := caller.Get(server.url + path)
		require.NoError(t, err)
		bodyOf(t, r)
		require.Equal(t, status, r.StatusCode, path)
	}
	select {
	case <-server.done:
		require.Fail(t, "it must wait for the draw under way")
	default:
	}
	close(letGo)
	answer := <-answers
	require.Equal(t, 200, answer.StatusCode)
	require.Contains(t, bodyOf(t, answer), `"user":"u"`)
	require.NoError(t, <-server.done)
	_, err := caller.Get(server.url + "/livez")
	require.Error(t, err, "nobody listens any more")
}

func TestDrainIsBounded(t *testing.T) {
	f, started, _ := held()
	s := newServer(t, f, func(c *Config) { c.RequestTimeout = time.Minute })
	require.Less(t, s.limits.draws+s.limits.rest, 15*time.Second)
	s.limits.draws, s.limits.rest = 100*time.Millisecond, 100*time.Millisecond
	server, caller := run(t, s), client(t)
	failed := make(chan error, 1)
	go func() {
		r, err := caller.Post(server.url+"/draw", "application/json", strings.NewReader(`{"pool":"p","user":"u"}`))
		if err == nil {
			_, err = io.ReadAll(r.Body)
			r.Body.Close()
		}
		failed <- err
	}()
	<-started
	begin := time.Now()
	server.end()
	require.NoError(t, <-server.done)
	require.Less(t, time.Since(begin), 5*time.Second)
	<-failed
	require.Eventually(t, func() bool { s.gate.mu.Lock(); defer s.gate.mu.Unlock(); return s.gate.inside == 0 },
		time.Second, time.Millisecond, "what was cut off has ended, too")
}

func TestDrainOfAnIdleServerIsQuick(t *testing.T) {
	server, caller := run(t, newServer(t, &fake{})), client(t)
	bodyOf(t, postDraw(t, caller, server.url)) // leaves an idle connection
	begin := time.Now()
	server.end()
	require.NoError(t, <-server.done)
	require.Less(t, time.Since(begin), 2*time.Second)
}

func TestServeOnAClosedListenerFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.Error(t, newServer(t, &fake{}).Serve(context.Background(), l))
}

// TestDrawsAtTheMomentOfTheDrain: every draw is either answered or
// refused as draining, and the gate ends empty.
func TestDrawsAtTheMomentOfTheDrain(t *testing.T) {
	s := newServer(t, &fake{})
	server := run(t, s)
	codes := make(chan string, 4000)
	done := make(chan struct{})
	for range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			caller := client(t)
			for range 500 {
				r, err := caller.Post(server.url+"/draw", "application/json", strings.NewReader(`{"pool":"p","user":"u"}`))
				if err != nil {
					return // the listener is gone
				}
				body, _ := io.ReadAll(r.Body)
				r.Body.Close()
				switch {
				case r.StatusCode == 200:
					codes <- "ok"
				case strings.Contains(string(body), `"code":"draining"`):
					codes <- "draining"
				default:
					codes <- string(body)
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
	require.Zero(t, s.gate.inside)
}
