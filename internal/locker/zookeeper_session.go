package locker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// zkSession is a session with ZooKeeper. It adds limits to the client's connection, which
// reconnects by itself.
type zkSession struct {
	conn *zk.Conn
	// granted is the session's timeout in ms, as the server granted it.
	granted atomic.Int32
	quit    chan struct{}
	// events is closed when the client ends.
	events <-chan zk.Event
	// late counts sweeps, and calls for which no caller waits any more.
	late sync.WaitGroup
}

func newZKSession(servers []string, o Options) (*zkSession, error) {
	s := &zkSession{quit: make(chan struct{})}
	conn, events, err := zk.Connect(servers, o.TTL, zk.WithDialer(s.dial), zk.WithHostProvider(&zkServers{}), zk.WithLogInfo(false), zk.WithLogger(zkLog{o.Log}))
	if err != nil {
		return nil, err
	}
	s.conn, s.events = conn, events
	return s, nil
}

// zkLog writes the client's log lines at debug level, because the client logs every
// attempt to connect.
type zkLog struct{ log *slog.Logger }

// Printf implements zk.Logger.
func (l zkLog) Printf(format string, args ...any) { l.log.Debug(fmt.Sprintf(format, args...)) }

// timeout returns the session's timeout, 0 if it is unknown.
func (s *zkSession) timeout() time.Duration {
	return time.Duration(s.granted.Load()) * time.Millisecond
}

func (s *zkSession) connected() bool { return s.conn.State() == zk.StateHasSession }

// awaitReady waits briefly for the connection. While it is down no request may be queued:
// the client would send the request after it reconnects.
func (s *zkSession) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, opTimeout)
	defer cancel()
	for !s.connected() {
		if pause(ctx, 10*time.Millisecond, nil) != nil {
			return errors.New("no connection to a ZooKeeper server")
		}
	}
	return nil
}

// zkCall makes a call, and waits for it for a limited time. The call itself has no
// context, and may take longer. It may succeed later; in that case the caller must sweep.
func zkCall[T any](s *zkSession, call func(c *zk.Conn) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	s.late.Go(func() {
		value, err := call(s.conn)
		done <- outcome{value, err}
	})
	limit := time.NewTimer(opTimeout)
	defer limit.Stop()
	select {
	case o := <-done:
		return o.value, o.err
	case <-limit.C:
		var none T
		return none, fmt.Errorf("ZooKeeper did not answer in %v", opTimeout)
	}
}

// sweep removes in the background what may remain of a place. It repeats that until
// nothing is left or the session has ended. The end of the session removes the rest.
func (p *place) sweep() {
	s := p.session
	session := s.conn.SessionID()
	s.late.Go(func() {
		select {
		case <-p.made:
		case <-s.quit:
			return
		}
		for s.conn.SessionID() == session && !p.isSwept() {
			select {
			case <-s.quit:
				return
			case <-time.After(opTimeout / 4):
			}
		}
	})
}

// isSwept reports whether nothing is left. ZooKeeper has processed all earlier requests
// of the session by then.
func (p *place) isSwept() bool {
	if !p.session.connected() {
		return false
	}
	deleted, err := zkCall(p.session, func(c *zk.Conn) (bool, error) {
		if _, err := c.Sync(p.folder); err != nil {
			return false, err
		}
		nodes, _, err := c.Children(p.folder)
		deleted := true
		for _, node := range nodes {
			if strings.HasPrefix(node, p.name) {
				deleted = false
				_ = c.Delete(p.folder+"/"+node, -1)
			}
		}
		return deleted, err
	})
	return (err == nil && deleted) || errors.Is(err, zk.ErrNoNode)
}

// close ends the session, and with it all its nodes.
func (s *zkSession) close() {
	close(s.quit)
	s.conn.Close()
	s.late.Wait()
	limit := time.After(2 * opTimeout) // the client may still be connecting
	for {
		select {
		case _, more := <-s.events:
			if !more {
				return
			}
		case <-limit:
			return
		}
	}
}
