package lockertest

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// contenders is the number of requests for one key. They come from all processes, and in
	// each from several instances of the lock.
	contenders = 32
	instances  = 3
	// rounds is the number of times that each contender gets the lock.
	rounds = 3
	// patience is the limit of a wait. Only a broken lock exceeds it.
	patience = 30 * time.Second
)

// inside records which contenders hold the lock, and with which token.
type inside struct {
	mu       sync.Mutex
	count    int
	last     int64
	overlaps int
	broken   error
}

func (i *inside) enter(token int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.count++
	if i.count > 1 {
		i.overlaps++
		i.broken = fmt.Errorf("%d hold the lock at once", i.count)
	}
	if token <= i.last {
		i.broken = fmt.Errorf("token %d came after %d", token, i.last)
	}
	i.last = max(i.last, token)
}

func (i *inside) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.count--
}

// exclusion: only one of many contenders holds the lock at a time. Its token is above all
// earlier tokens.
func exclusion(b *bench) error {
	var in inside
	errs := make(chan error, contenders)
	for n := range contenders {
		p := b.processes[n%processes]
		go func() {
			for range rounds {
				h, err := p.hold(n%instances, b.key, patience)
				if err != nil {
					errs <- err
					return
				}
				in.enter(h.token)
				time.Sleep(500 * time.Microsecond) // long enough to overlap with others
				in.leave()
				if err := h.release(); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range contenders {
		if err := <-errs; err != nil {
			return err
		}
	}
	b.result.Contenders, b.result.Overlaps = contenders, in.overlaps
	return in.broken
}

// tokenOutlives: the token grows from holder to holder, even after a process has ended
// with all its connections.
func tokenOutlives(b *bench) error {
	last := int64(0)
	for n := range 4 {
		h, err := b.processes[n%processes].hold(0, b.key, patience)
		if err != nil {
			return err
		}
		if h.token <= last {
			return fmt.Errorf("token %d came after %d", h.token, last)
		}
		last = h.token
		if err := h.release(); err != nil {
			return err
		}
		if n == 0 {
			b.processes[0].kill()
			if err := b.restart(0); err != nil {
				return err
			}
		}
	}
	b.result.TokenGrows = true
	return nil
}

// manyKeys: locks on different keys do not exclude each other, and do not exhaust shared
// resources. Each of them can be held, possibly one after another.
func manyKeys(b *bench) error {
	s := b.Subject
	s.TTL = 10 * time.Second // as long as in service: a short lease may end before a wait in a queue does
	l, err := b.openAs(s, patience)
	if err != nil {
		return err
	}
	errs := make(chan error, contenders)
	for n := range cap(errs) {
		go func() {
			errs <- l.WithLock(b.ctx, fmt.Sprint(b.key, n), func(ctx context.Context, _ int64) error {
				time.Sleep(time.Millisecond)
				return ctx.Err()
			})
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}
