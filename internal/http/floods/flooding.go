package floods

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// callersEach is how many callers make each call of a role at once: some with a
	// guessed token, some that disconnect without the answer.
	callersEach = 4
	// slowEvery is how often a connection is opened that sends or reads nothing.
	slowEvery = 20 * time.Millisecond
	// answersUnread is how many of the slow connections leave an answer unread.
	answersUnread = 16
)

// Flood repeats each call that a role may make, sends bodies and reads answers slowly,
// and guesses tokens, until end is called. end returns how many calls were answered.
func (s *Service) Flood(role string) (end func() (answered int64, err error)) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: 2 * s.AnswerMax}
	ctx, cancel := context.WithCancel(context.Background())
	f := &flooding{Service: s, role: role, client: client}
	for _, c := range Calls() {
		if !c.allows(role) {
			continue
		}
		for n := range callersEach {
			f.all.Go(func() { f.repeat(ctx, &c, n) })
		}
	}
	f.all.Go(func() { f.dawdle(ctx) })
	return func() (int64, error) {
		cancel()
		f.all.Wait()
		client.CloseIdleConnections()
		err, _ := f.failed.Load().(error)
		return f.answered.Load(), err
	}
}

// flooding is the flood of a role.
type flooding struct {
	*Service
	role     string
	client   *http.Client
	all      sync.WaitGroup
	answered atomic.Int64
	failed   atomic.Value // an error of the flood itself
}

// repeat makes a call again and again until ctx ends. n is the number of this caller
// among those of the call.
func (f *flooding) repeat(ctx context.Context, c *Call, n int) {
	for ctx.Err() == nil {
		r, err := f.newRequest(ctx, c, f.role)
		if err != nil {
			f.failed.Store(errors.Join(err))
			return
		}
		if n == 0 {
			r.Header.Set("Authorization", "Bearer guessed")
		}
		answer, err := f.client.Do(r)
		if err != nil {
			continue // the flood ended, or the connection was closed to make room
		}
		f.answered.Add(1)
		if n%2 == 0 {
			_, _ = io.Copy(io.Discard, answer.Body) // it may be cut
		}
		_ = answer.Body.Close()
	}
}

// dawdle opens connections that never send their body, and some that never read their
// answer.
func (f *flooding) dawdle(ctx context.Context) {
	var all []net.Conn
	defer func() {
		for _, c := range all {
			_ = c.Close()
		}
	}()
	for n := 0; ctx.Err() == nil; n++ {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(f.URL, "http://"))
		if err == nil {
			all = append(all, c)
			f.beginOn(c, n)
		}
		select {
		case <-ctx.Done():
		case <-time.After(slowEvery):
		}
	}
}

// beginOn begins a request that does not end.
func (f *flooding) beginOn(c net.Conn, n int) {
	head := "POST /draw HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n"
	switch {
	case n%8 == 0 && f.role == "stock":
		head = "POST /admin/pools/" + poolMany + "/import HTTP/1.1\r\nContent-Type: text/csv\r\nContent-Length: 1000\r\n"
	case n < 2*answersUnread && n%2 == 0:
		if tcp, is := c.(*net.TCPConn); is {
			_ = tcp.SetReadBuffer(4096) // the answer does not fit
		}
		const pool, admin = "/pools/" + poolMany, "/admin/pools/" + poolMany
		paths := []string{"/openapi.json", pool + "/odds", "/pools/" + poolRevealed + "/proof/log", admin, admin + "/audit", admin + "/log"}
		head = "GET " + paths[n/2%len(paths)] + " HTTP/1.1\r\n"
	}
	if token := f.Tokens[f.role]; token != "" {
		head += "Authorization: Bearer " + token + "\r\n"
	}
	_, _ = io.WriteString(c, head+"Host: localhost\r\n\r\n{") // the service may have closed it
}
