package locker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	etcd "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"drawsvc/internal/draw"
)

// etcdLock is, for each lock, a queue of keys under a prefix, in the order of the
// revisions that created them. The first key has the lock. Each waiter watches the key
// before its own, so that a release wakes only one waiter. The revision is the token.
//
// Each hold has an etcd lease of its own; the process has no common one. When a lease
// ends, etcd removes everything attached to it, even if a response was lost. So two
// holders in one process are never mistaken for one. etcd counts leases in whole seconds
// and has a minimum length. If that is longer than the requested length, a dead holder
// keeps the lock for that long.
type etcdLock struct {
	client *etcd.Client
	ttl    time.Duration
	// late counts leases that are being ended after requests without an answer.
	late sync.WaitGroup
}

// etcdFolder is the prefix of the names of all keys.
const etcdFolder = "drawsvc/lock/"

// openEtcd reads //HOST[:PORT][,HOST[:PORT]…].
func openEtcd(rest string, o Options) (backend, error) {
	servers, err := etcdServers(rest)
	if err != nil {
		return nil, err
	}
	client, err := etcd.New(etcd.Config{
		Endpoints:            servers,
		DialTimeout:          opTimeout,
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: opTimeout,
		Logger:               zap.NewNop(),
		// By default, the pauses between attempts to connect grow to two minutes.
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: opTimeout},
			MinConnectTimeout: opTimeout,
		})},
	})
	if err != nil {
		return nil, draw.Wrap(draw.CodeInvalidRequest, err, "the hosts of lock etcd: are not of the form HOST:PORT")
	}
	return &etcdLock{client: client, ttl: o.TTL}, nil
}

// etcdServers returns the hosts of a URL, each with its port.
func etcdServers(rest string) ([]string, error) {
	const usualPort = "2379"
	malformed := draw.Errorf(draw.CodeInvalidRequest, "lock must be etcd://HOST:PORT,HOST:PORT,…")
	hosts, found := strings.CutPrefix(rest, "//")
	if !found {
		return nil, malformed
	}
	servers := strings.Split(hosts, ",")
	for i, server := range servers {
		u, err := url.Parse("etcd://" + server)
		if err != nil || u.Hostname() == "" || u.Host != server {
			return nil, malformed
		}
		if u.Port() == "" {
			servers[i] = net.JoinHostPort(u.Hostname(), usualPort)
		}
	}
	return servers, nil
}

func (e *etcdLock) acquire(ctx context.Context, key string, until time.Time) (*lease, error) {
	s := &stand{client: e.client, folder: etcdFolder + url.PathEscape(key) + "/"}
	if err := s.lease(ctx, e.ttl); err != nil {
		return nil, err
	}
	err := s.join(ctx)
	if err == nil {
		err = s.awaitFront(ctx, until)
	}
	switch {
	case err == nil:
	case errors.Is(err, errBusy) || ctx.Err() != nil:
		_ = s.leave(ctx) // so that the next waiter need not wait for the end of the term
		return nil, err
	default:
		e.late.Go(func() { _ = s.leave(ctx) })
		return nil, err
	}
	return &lease{token: s.revision, since: s.since, renew: s.prove, release: s.leave}, nil
}

func (e *etcdLock) ping(ctx context.Context) error {
	_, err := e.client.Get(ctx, etcdFolder)
	return naming(ctx, e.client.Endpoints(), err)
}

func (e *etcdLock) close() error {
	e.late.Wait()
	return e.client.Close()
}

// stand is the position of one holder or waiter in the queue of a lock.
type stand struct {
	client   *etcd.Client
	folder   string
	key      string // belongs to this stand only
	id       etcd.LeaseID
	ttl      time.Duration
	since    time.Time // a time before the lease was last granted or renewed
	revision int64     // the revision that created the key
}

// lease requests the etcd lease to which the key will be attached.
func (s *stand) lease(ctx context.Context, ttl time.Duration) error {
	ctx, cancel := detachContext(ctx)
	defer cancel()
	since := time.Now()
	granted, err := s.client.Grant(ctx, int64(math.Ceil(ttl.Seconds())))
	if err != nil {
		return err
	}
	s.since, s.ttl, s.id = since, ttl, granted.ID
	s.key = fmt.Sprintf("%s%x", s.folder, granted.ID)
	return nil
}

func (s *stand) join(ctx context.Context) error {
	ctx, cancel := detachContext(ctx)
	defer cancel()
	made, err := s.client.Put(ctx, s.key, "", etcd.WithLease(s.id))
	if err != nil {
		return err
	}
	s.revision = made.Header.Revision
	return nil
}

// awaitFront waits until no other key is before this one.
func (s *stand) awaitFront(ctx context.Context, until time.Time) error {
	for {
		before, seen, err := s.findBefore(ctx)
		if err != nil || before == "" {
			return err
		}
		if time.Until(until) <= 0 {
			return errBusy
		}
		if err := s.await(ctx, until, before, seen); err != nil {
			return err
		}
	}
}

// findBefore returns the key directly before this one, "" if this is the first. It also
// returns the revision at which it read the queue.
func (s *stand) findBefore(ctx context.Context) (key string, seen int64, err error) {
	ctx, cancel := detachContext(ctx)
	defer cancel()
	options := append(etcd.WithLastCreate(), etcd.WithMaxCreateRev(s.revision-1), etcd.WithKeysOnly())
	found, err := s.client.Get(ctx, s.folder, options...)
	if err != nil {
		return "", 0, err
	}
	if len(found.Kvs) == 0 {
		return "", found.Header.Revision, nil
	}
	return string(found.Kvs[0].Key), found.Header.Revision, nil
}

// await waits until the key before this one is deleted, and meanwhile renews the lease.
func (s *stand) await(ctx context.Context, until time.Time, before string, seen int64) error {
	watching, stop := context.WithCancel(etcd.WithRequireLeader(ctx))
	defer stop()
	events := s.client.Watch(watching, before, etcd.WithRev(seen+1), etcd.WithFilterPut())
	limit := time.NewTimer(time.Until(until))
	defer limit.Stop()
	keep := time.NewTimer(time.Until(s.since.Add(s.ttl / 3)))
	defer keep.Stop()
	for {
		select {
		case e, open := <-events:
			switch {
			case !open || e.Err() != nil:
				return pause(ctx, 10*time.Millisecond, nil) // the caller then reads the queue again
			case slices.ContainsFunc(e.Events, isDelete):
				return nil
			}
		case <-keep.C:
			if err := s.extend(ctx); err != nil {
				return err
			}
			keep.Reset(time.Until(s.since.Add(s.ttl / 3)))
		case <-limit.C:
			return errBusy
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func isDelete(e *etcd.Event) bool { return e.Type == mvccpb.DELETE }

// extend starts the lease's term again.
func (s *stand) extend(ctx context.Context) error {
	ctx, cancel := detachContext(ctx)
	defer cancel()
	since := time.Now()
	_, err := s.client.KeepAliveOnce(ctx, s.id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return errLost
	}
	if err == nil {
		s.since = since
	}
	return err
}

// prove renews the lease, and checks that the holder's key still has its revision.
func (s *stand) prove(ctx context.Context) error {
	if err := s.extend(ctx); err != nil {
		return err
	}
	compared, err := s.client.Txn(ctx).If(etcd.Compare(etcd.CreateRevision(s.key), "=", s.revision)).Commit()
	if err == nil && !compared.Succeeded {
		return errLost
	}
	return err
}

// leave ends the lease, which deletes the key.
func (s *stand) leave(ctx context.Context) error {
	ctx, cancel := detachContext(ctx)
	defer cancel()
	_, err := s.client.Revoke(ctx, s.id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return errLost
	}
	return err
}
