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
// have granted. The term begins before the first request, so that it is shorter by the
// time of the requests. The drift between two clocks is subtracted as well.
//
// A majority produces a growing token as follows. Each server that grants the lock
// proposes a token that is above its last one and not below its clock. The highest
// proposal is the token. Before it is used it is sealed: it is written back to a majority
// of servers that still hold the lock for this owner. The next holder has a majority too,
// so at least one of its servers has sealed the old token before it granted the lock
// again, and proposes a higher one.
//
// As long as the servers keep their data, every token is above the tokens of all
// earlier holders, even if holders pause, die or run out of time. This does not
// guarantee that only one process holds the lock at a time. A server that restarts
// without its data may grant the lock a second time, and if the clocks of the servers
// differ as well, even the token may be too low. The guarded write decides.
type redisMajority struct {
	servers []*redisServer
	quorum  int
	ttl     time.Duration
	// limit bounds a request to one server. It is short compared to the term, because a
	// silent server would otherwise use up much of the term at the other servers.
	limit time.Duration
	// late counts requests whose replies are not waited for.
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

// vote asks all servers at once. It returns their replies as soon as a majority has said
// yes, or can no longer do so. Later replies are ignored.
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

// checkGranted returns nil if a majority granted the lock, errBusy if a later vote may
// succeed, and another error if too few servers reply.
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

// checkOwned returns nil if a majority said yes, and errLost if a majority is no longer
// possible because of those that said no. Otherwise it returns an error that leaves the
// result open.
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
