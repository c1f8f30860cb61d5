package locker

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"drawsvc/internal/draw"
)

// zookeeper is a queue of ephemeral sequential nodes, in a folder for each key. The first
// node has the lock. Each waiter watches the node before its own, so that a release wakes
// only one waiter. The token is the id of the transaction that created the node, which
// grows along the queue.
//
// All holders of a process share one session. ZooKeeper ends the session if the process
// is silent for the session's timeout. ZooKeeper's own limits may make the timeout longer
// than the requested lease. The session continues when one of its holders fails. So every
// node has a random name, and every return path removes it, even if ZooKeeper never
// answered its creation.
type zookeeper struct {
	zkPlace
	session *zkSession
	ttl     time.Duration
	// isKnown means that the session has authenticated the user.
	isKnown atomic.Bool
	// isClosed means that the folder's access list was checked: no other user can change the
	// folder.
	isClosed atomic.Bool
}

// openZooKeeper reads //[USER:PASSWORD@]HOST:PORT[,HOST:PORT…][/PATH]. The default path
// is /drawsvc.
func openZooKeeper(rest string, o Options) (backend, error) {
	at, err := zooKeeperPlace(rest)
	if err != nil {
		return nil, err
	}
	session, err := newZKSession(at.servers, o)
	if err != nil {
		return nil, draw.Wrap(draw.CodeInvalidRequest, err, "the hosts of lock zookeeper: are not known")
	}
	return &zookeeper{session: session, zkPlace: at, ttl: o.TTL}, nil
}

func (z *zookeeper) acquire(ctx context.Context, key string, until time.Time) (*lease, error) {
	if err := z.awaitReady(ctx); err != nil {
		return nil, err
	}
	p := &place{session: z.session, acl: z.acl(), folder: z.folder + "/key-" + url.PathEscape(key), name: rand.Text(), made: make(chan struct{})}
	since := time.Now()
	if err := p.join(); err != nil {
		p.sweep()
		return nil, err
	}
	token, err := p.awaitFront(ctx, until)
	switch {
	case err == nil:
	case errors.Is(err, errBusy) || ctx.Err() != nil:
		_ = p.leave() // so that the next waiter need not wait for a sweep
		return nil, err
	default:
		p.sweep()
		return nil, err
	}
	return &lease{
		token:   token,
		ttl:     z.session.timeout(),
		since:   since,
		renew:   func(context.Context) error { return p.prove() },
		release: func(context.Context) error { return p.leave() },
	}, nil
}

func (z *zookeeper) ping(ctx context.Context) error {
	if err := z.awaitReady(ctx); err != nil {
		return naming(ctx, z.servers, err)
	}
	_, err := zkCall(z.session, func(c *zk.Conn) (bool, error) {
		found, _, err := c.Exists("/")
		return found, err
	})
	return naming(ctx, z.servers, err)
}

func (z *zookeeper) close() error {
	z.session.close()
	return nil
}

// place is the position of one holder or waiter in the queue of a key.
type place struct {
	session *zkSession
	acl     []zk.ACL
	folder  string
	name    string // random, the beginning of the node's name
	node    string // the whole name of the node, with its number
	// made is closed when the creation of the node has a result.
	made chan struct{}
}

// join creates the node, and the folders above it if they do not exist.
func (p *place) join() error {
	path, err := zkCall(p.session, func(c *zk.Conn) (string, error) {
		defer close(p.made)
		path, err := p.create(c)
		if !errors.Is(err, zk.ErrNoNode) {
			return path, err
		}
		for i, r := range p.folder + "/" {
			if i == 0 || r != '/' {
				continue
			}
			if _, err := c.Create(p.folder[:i], nil, zk.FlagPersistent, p.acl); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				return "", err
			}
		}
		return p.create(c)
	})
	p.node = path[strings.LastIndex(path, "/")+1:]
	return err
}

func (p *place) create(c *zk.Conn) (string, error) {
	return c.Create(p.folder+"/"+p.name+"_", nil, zk.FlagEphemeralSequential, p.acl)
}

// awaitFront waits until no other node is before this one, and returns the token of this
// node.
func (p *place) awaitFront(ctx context.Context, until time.Time) (int64, error) {
	for {
		before, err := p.findBefore()
		if err != nil {
			return 0, err
		}
		if before == "" {
			return p.token()
		}
		if time.Until(until) <= 0 {
			return 0, errBusy
		}
		if err := p.await(ctx, until, before); err != nil {
			return 0, err
		}
	}
}

// findBefore returns the node directly before this one, "" if this is the first.
func (p *place) findBefore() (string, error) {
	nodes, err := zkCall(p.session, func(c *zk.Conn) ([]string, error) {
		nodes, _, err := c.Children(p.folder)
		return nodes, err
	})
	if err != nil {
		return "", err
	}
	slices.SortFunc(nodes, func(a, b string) int { return int(number(a) - number(b)) })
	i := slices.Index(nodes, p.node)
	if i < 0 {
		return "", errLost // the node ended with the session
	}
	if i == 0 {
		return "", nil
	}
	return nodes[i-1], nil
}

// number returns the number that ZooKeeper appended to a node's name. It has 32 bits and
// wraps around to negative values, so only differences can be compared.
func number(node string) int32 {
	n, err := strconv.ParseInt(node[strings.LastIndex(node, "_")+1:], 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// await waits until the node before this one is deleted. If it gives up, its watch ends
// with that node.
func (p *place) await(ctx context.Context, until time.Time, before string) error {
	deleted, err := zkCall(p.session, func(c *zk.Conn) (<-chan zk.Event, error) {
		// Exists is not used: if the node does not exist, its watch would wait for a creation
		// that never comes.
		_, _, deleted, err := c.GetW(p.folder + "/" + before)
		return deleted, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	limit := time.NewTimer(time.Until(until))
	defer limit.Stop()
	select {
	case <-deleted:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-limit.C:
	}
	if !p.session.connected() {
		return zk.ErrConnectionClosed
	}
	return errBusy
}

// token returns the id of the transaction that created the node.
func (p *place) token() (int64, error) {
	stat, err := zkCall(p.session, func(c *zk.Conn) (*zk.Stat, error) {
		found, stat, err := c.Exists(p.folder + "/" + p.node)
		if err == nil && !found {
			err = errLost
		}
		return stat, err
	})
	if err != nil {
		return 0, err
	}
	return stat.Czxid, nil
}

// prove writes to the node. A read would not be enough: a server that is cut off may
// still answer it from old data. A write needs a majority.
func (p *place) prove() error {
	_, err := zkCall(p.session, func(c *zk.Conn) (*zk.Stat, error) { return c.Set(p.folder+"/"+p.node, nil, -1) })
	if errors.Is(err, zk.ErrNoNode) {
		return errLost
	}
	return err
}

// leave removes the node. If that is not possible now, it does so later.
func (p *place) leave() error {
	_, err := zkCall(p.session, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(p.folder+"/"+p.node, -1) })
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return errLost
	}
	p.sweep()
	return err
}
