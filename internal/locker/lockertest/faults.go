package lockertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

const (
	// refusedMax is the maximum time after which a call must report that the lock service
	// is down.
	refusedMax = 1500*time.Millisecond + slack
	// backMax is the maximum time until a lock works again after the return of its service.
	backMax = 5 * time.Second
)

// fault is one failure. kinds are the kinds of servers that it can affect; nil means all.
type fault struct {
	name  string
	kinds []string
	run   func(r *rig) error
}

func faults() []fault {
	return []fault{
		{"server killed and started again", nil, serverKilled},
		{"link cut", nil, func(r *rig) error { return linkBroken(r, (*servertest.Proxy).Cut) }},
		{"link silent", nil, func(r *rig) error { return linkBroken(r, (*servertest.Proxy).Hold) }},
		{"link cut while waiting", nil, cutWhileWaiting},
		{"answer lost", nil, answerLost},
		{"sessions killed", []string{"postgres", "mysql"}, sessionsKilled},
		{"emptied", []string{"redis", "3 × redis"}, redisEmptied},
		{"failed over to a replica that lags", []string{"redis"}, redisRolledBack},
		{"clock moved", []string{"redis"}, redisClock},
		{"a dead host in the list", []string{"zookeeper", "etcd"}, deadHost},
		{"one of the servers down", []string{"3 × redis"}, oneOfThreeDown},
	}
}

// RunFaults breaks the subject's own servers in every way that is possible for them.
func RunFaults(t *testing.T, s Subject) {
	v, err := newVault(t)
	require.NoError(t, err)
	url, servers := s.Private(t)
	near := s.On(t, url)
	result := newResult(t, s)
	for _, f := range faults() {
		if len(f.kinds) > 0 && !slices.Contains(f.kinds, s.Kind) {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			require.NoError(t, steady(t, func(attempt int) error {
				if attempt > 1 {
					near = near.slower()
					for _, s := range servers { // some may be dead or paused
						s.Kill()
						if err := s.Start(); err != nil {
							return err
						}
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), checkMax)
				defer cancel()
				far, links := near.linked(t)
				return f.run(&rig{
					bench:   bench{Subject: near, tb: t, ctx: ctx, key: fmt.Sprint(f.name, attempt), vault: v, result: result},
					servers: servers, far: far, links: links,
				})
			}))
		})
	}
}

// rig is a bench whose servers can be broken, and the links to them.
type rig struct {
	bench
	servers []*servertest.Server
	// far is the subject with URLs that lead through the links.
	far   Subject
	links links
}

// note records an observation for the table.
func (r *rig) note(format string, args ...any) {
	r.result.Seen = append(r.result.Seen, fmt.Sprintf(format, args...))
}

// grip is a hold in this process.
type grip struct {
	token int64
	lost  <-chan struct{}
	end   chan struct{}
	done  chan error
}

// grab holds the rig's key with l until release.
func (r *rig) grab(l *opened) (*grip, error) {
	g := &grip{end: make(chan struct{}), done: make(chan error, 1)}
	in := make(chan struct{})
	go func() {
		g.done <- l.WithLock(r.ctx, r.key, func(ctx context.Context, token int64) error {
			g.token, g.lost = token, ctx.Done()
			close(in)
			select {
			case <-g.end:
			case <-r.ctx.Done(): // a failed check releases no hold
			}
			return nil
		})
	}()
	select {
	case <-in:
		return g, nil
	case err := <-g.done:
		return nil, orNil(err)
	}
}

func (g *grip) release() error {
	close(g.end)
	return <-g.done
}

// isLost reports whether the holder was notified that the lock is lost.
func (g *grip) isLost() bool {
	select {
	case <-g.lost:
		return true
	default:
		return false
	}
}

// warm opens a lock and uses it once, so that it has open connections.
func (r *rig) warm(s Subject, wait time.Duration) (*opened, error) {
	l, err := r.openAs(s, wait)
	if err != nil {
		return nil, err
	}
	_, _, err = r.served(l, backMax)
	return l, err
}

// held opens the lock of s twice. One of the two then holds the lock. The other acts as a
// second process, and does not wait.
func (r *rig) held(s Subject) (holder, other *opened, first *grip, err error) {
	if holder, err = r.warm(s, patience); err != nil {
		return nil, nil, nil, err
	}
	if other, err = r.warm(s, 0); err != nil {
		return nil, nil, nil, err
	}
	first, err = r.grab(holder)
	return holder, other, first, err
}

// refused requires that l reports soon that its service is down, and returns the time
// that it took.
func (r *rig) refused(l *opened) (time.Duration, error) {
	began := time.Now()
	err := l.WithLock(r.ctx, r.key, nothing)
	took := time.Since(began)
	if codeOf(err) != "lock-unavailable" {
		return took, fmt.Errorf("wanted lock-unavailable, got %w", orNil(err))
	}
	if took > refusedMax {
		return took, fmt.Errorf("%w: the refusal took %v", errLate, took)
	}
	if err := l.Ping(r.ctx); codeOf(err) != "lock-unavailable" {
		return took, fmt.Errorf("its ping: wanted lock-unavailable, got %w", orNil(err))
	}
	return took, nil
}

// served requires that l gets the lock within a time. Until then, l must be refused with
// the errors of the contract. It returns the token.
func (r *rig) served(l *opened, limit time.Duration) (token int64, took time.Duration, err error) {
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := l.WithLock(r.ctx, r.key, func(_ context.Context, t int64) error {
			token = t
			return nil
		})
		took := time.Since(began)
		if err == nil {
			err = l.Ping(r.ctx)
		}
		if err == nil {
			return token, took, nil
		}
		if code := codeOf(err); code != "contended" && code != "lock-unavailable" {
			return 0, took, err
		}
		if took > limit {
			return 0, took, fmt.Errorf("%w: not served within %v: %w", errLate, limit, err)
		}
	}
}

// after requires that a token is above an earlier one.
func after(earlier, token int64) error {
	if token <= earlier {
		return fmt.Errorf("token %d came after %d", token, earlier)
	}
	return nil
}

// serverKilled: if a server is killed, the holder is notified, and others are refused
// quickly. When the server works again, so do the same locks.
func serverKilled(r *rig) error {
	holder, other, first, err := r.held(r.Subject)
	if err != nil {
		return err
	}
	killed := time.Now()
	for _, s := range r.servers {
		s.Kill()
	}
	if err := within(r.ctx, r.Term+slack, first.lost, "the holder is notified"); err != nil {
		return err
	}
	notified := time.Since(killed)
	took, err := r.refused(other)
	if err != nil {
		return err
	}
	r.result.DownRefused = milliseconds(took)
	if err := first.release(); err != nil {
		return err
	}
	for _, s := range r.servers {
		if err := s.Start(); err != nil {
			return err
		}
	}
	token, took, err := r.served(other, backMax)
	if err != nil {
		return err
	}
	r.result.BackAfter = milliseconds(took)
	r.note("killed and started again: holder notified after %.1f s, token grew", notified.Seconds())
	_, _, err = r.served(holder, backMax)
	return errors.Join(after(first.token, token), err)
}

// deadHost: a lock with a list of hosts works as long as one of them does.
func deadHost(r *rig) error {
	s := r.Subject
	s.Lock = strings.Replace(s.Lock, "://", "://127.0.0.1:1,", 1)
	for range 4 { // the client may try any of the hosts first
		if _, err := r.warm(s, 0); err != nil {
			return err
		}
	}
	return nil
}
