package locker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

// redisMajority holds a lock that more than half of several independent Redis servers
// have granted. The term begins before the first request, so the duration of the requests
// shortens it. The drift between two clocks is also subtracted.
//
// A majority produces a growing token as follows. Each server that grants the lock
// proposes a token that is above its last one and not below its clock. The highest
// proposal is the token. Before the token is used, it is sealed: a majority of servers
// that still hold the lock for this owner store it. The next holder has a majority too.
// So at least one of its servers had stored the old token before it granted the lock
// again, and proposes a higher one.
//
// As long as the servers keep their data, every token is above the tokens of all earlier
// holders. This holds even if holders pause, die or run out of time. A growing token does
// not guarantee that only one process holds the lock at a time. A server that restarts
// without its data may grant the lock a second time. If the clocks of the servers also
// differ, even the token may be too low. The guarded write decides.
type redisMajority struct {
	servers []*redisServer
	quorum  int
	ttl     time.Duration
	// limit bounds a request to one server. It is short compared with the term: otherwise a
	// silent server would use up much of the term at the other servers.
	limit time.Duration
	// late counts requests whose replies nobody waits for.
	late sync.WaitGroup
}

func newRedisMajority(servers []*redisServer, o Options) *redisMajority {
	return &redisMajority{
		servers: servers,
		quorum:  len(servers)/2 + 1,
		ttl:     o.TTL,
		limit:   min(max(o.TTL/10, 200*time.Millisecond), opTimeout),
	}
}

func (m *redisMajority) acquire(ctx context.Context, key string, until time.Time) (*lease, error) {
	wake, done := m.servers[0].wakes.wait(key)
	defer done()
	p := pace{shortest: 5 * time.Millisecond, longest: 500 * time.Millisecond}
	return poll(ctx, until, p, wake, func(ctx context.Context) (*lease, time.Duration, error) {
		b := &ballot{m: m, key: key, owner: rand.Text(), claimed: make([]chan struct{}, len(m.servers))}
		l, left, err := b.hold(ctx)
		if errors.Is(err, errBusy) {
			for _, s := range m.servers {
				s.listen()
			}
		}
		return l, left, err
	})
}

// reply is one server's reply.
type reply struct {
	server int
	yes    bool
	n      int64
	err    error
}

// vote asks all servers at once. It returns the replies as soon as a majority has said
// yes, or can no longer do so, and ignores later replies.
func (m *redisMajority) vote(ctx context.Context, servers []int, ask func(ctx context.Context, i int) reply) []reply {
	answers := make(chan reply, len(servers))
	for _, i := range servers {
		m.late.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.limit)
			defer cancel()
			r := ask(ctx, i)
			r.server = i
			answers <- r
		})
	}
	replies := make([]reply, 0, len(servers))
	yes := 0
	for range servers {
		r := <-answers
		replies = append(replies, r)
		if r.yes && r.err == nil {
			yes++
		}
		pending := len(servers) - len(replies)
		if yes >= m.quorum || yes+pending < m.quorum {
			break
		}
	}
	return replies
}

// tally is the result of a vote.
type tally struct {
	yes, no, failed int
	err             error // one of the errors
}

func tallied(replies []reply) (t tally) {
	for _, r := range replies {
		switch {
		case r.err != nil:
			t.failed, t.err = t.failed+1, r.err
		case r.yes:
			t.yes++
		default:
			t.no++
		}
	}
	return t
}

// checkGranted returns nil if a majority granted the lock, and errBusy if a later vote
// may succeed. It returns another error if too few servers reply.
func (m *redisMajority) checkGranted(replies []reply) error {
	t := tallied(replies)
	switch {
	case t.yes >= m.quorum:
		return nil
	case t.failed > len(m.servers)-m.quorum:
		return fmt.Errorf("too few of the Redis servers answer: %w", t.err)
	}
	return errBusy
}

// checkOwned returns nil if a majority said yes. It returns errLost if so many servers
// said no that a majority is impossible. Otherwise the result is unknown, and it returns
// another error.
func (m *redisMajority) checkOwned(replies []reply) error {
	t := tallied(replies)
	switch {
	case t.yes >= m.quorum:
		return nil
	case t.no > len(m.servers)-m.quorum || t.failed == 0:
		return errLost
	}
	return fmt.Errorf("too few of the Redis servers answer: %w", t.err)
}

func (m *redisMajority) all() []int {
	servers := make([]int, len(m.servers))
	for i := range servers {
		servers[i] = i
	}
	return servers
}

func (m *redisMajority) ping(ctx context.Context) error {
	return m.checkGranted(m.vote(ctx, m.all(), func(ctx context.Context, i int) reply {
		err := m.servers[i].client.Ping(ctx).Err()
		return reply{yes: err == nil, err: err}
	}))
}

func (m *redisMajority) close() error {
	var errs []error
	for _, s := range m.servers {
		errs = append(errs, s.close())
	}
	m.late.Wait()
	return errors.Join(errs...)
}
