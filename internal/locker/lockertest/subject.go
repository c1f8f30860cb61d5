package lockertest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/locker"
	"drawsvc/internal/servertest"
)

// Subject is one lock on one server. It is sent to other processes as JSON.
type Subject struct {
	// Lock and Database are URLs in the form of the flags; Database is empty for the
	// locks that need none.
	Lock, Database string
	// Kind is the server of the lock, such as "postgres".
	Kind string
	// Flaw, if not "", is one of Flaws: the lock is deliberately broken.
	Flaw string
	// TTL is the length of the lease to request. Term is the maximum time for which a paused
	// holder may keep the lock; it is longer if the server rounds up.
	TTL, Term time.Duration
	// Grip is the maximum time for which a dead holder may keep the lock. It is 0 if the
	// server notices that the connection is closed.
	Grip time.Duration
}

// Name returns the scheme and the server.
func (s Subject) Name() string { return s.Scheme() + " on " + s.Kind + s.Flaw }

// Scheme returns the part of the lock's URL before the first slash.
func (s Subject) Scheme() string {
	scheme, _, _ := strings.Cut(s.Lock, "/")
	return scheme
}

const (
	ttl = 500 * time.Millisecond
	// wholeSecond is the unit to which some servers round a lease. A shorter session may end
	// if the server runs in a virtual machine on a busy computer.
	wholeSecond = time.Second
	// slack is added to every bound, because the machine may be busy.
	slack = time.Second
)

// Registered returns every lock of the registry on every kind of server that the lock can
// use. The subjects do not have servers yet.
func Registered(tb testing.TB) []Subject {
	tb.Helper()
	var all []Subject
	for _, scheme := range locker.Schemes() {
		needs := servertest.Locks()[scheme]
		if len(needs.Kinds) == 0 {
			tb.Fatalf("lockertest: the lock %q needs a line in servertest's table of locks", scheme)
		}
		kinds := needs.Kinds
		if needs.Majority {
			kinds = append(kinds, "3 × "+kinds[0])
		}
		for _, kind := range kinds {
			all = append(all, subject(scheme, kind))
		}
	}
	return all
}

// subject returns a lock on a kind of server, with suitable times. ZooKeeper, etcd and
// the sessions of MySQL count in seconds. A lock that belongs to a connection has the
// Grip 0.
func subject(scheme, kind string) Subject {
	s := Subject{Lock: scheme + ":", Kind: kind, TTL: ttl, Term: ttl, Grip: ttl}
	switch scheme {
	case "zookeeper", "etcd":
		s.TTL, s.Term, s.Grip = wholeSecond, wholeSecond, wholeSecond
	case "row", "session":
		s.Grip = 0
		if kind == "mysql" {
			s.Term = wholeSecond
		}
	}
	return s
}

// leaseMax is the longest lease that slower gives.
const leaseMax = 4 * time.Second

// slower returns the subject with leases twice as long. Without processor time, a short
// lease ends although the lock is correct. A broken lock fails whatever the length of its
// leases.
func (s Subject) slower() Subject {
	if s.TTL < leaseMax {
		s.TTL, s.Term, s.Grip = 2*s.TTL, 2*s.Term, 2*s.Grip
	}
	return s
}

// On returns the subject on the server at a URL, and creates the tables that it needs.
func (s Subject) On(tb testing.TB, url string) Subject {
	tb.Helper()
	switch s.Kind {
	case "sqlite", "postgres", "mysql":
		s.Database = url
	default:
		s.Lock = url
	}
	require.NoError(tb, migrate(tb.Context(), s.Database))
	return s
}

// Shared returns the URL of a place on a server of the subject's kind. Other tests use
// the same server, but other places on it.
func (s Subject) Shared(tb testing.TB) string {
	tb.Helper()
	switch s.Kind {
	case "sqlite":
		return "sqlite:" + filepath.Join(tb.TempDir(), "locks.db")
	case "postgres":
		return servertest.Postgres(tb)
	case "mysql":
		return servertest.MySQL(tb)
	}
	if _, single := servertest.Locks()[s.Kind]; single {
		return servertest.LockURL(tb, s.Kind)
	}
	url, _ := s.Private(tb)
	return url
}

// Private starts servers for this subject only, which a test may kill. It returns one URL
// for all of them. A file has no server.
func (s Subject) Private(tb testing.TB) (url string, servers []*servertest.Server) {
	tb.Helper()
	count, kind, several := strings.Cut(s.Kind, " × ")
	if !several {
		server := servertest.Start(tb, s.Kind)
		return server.URL(), []*servertest.Server{server}
	}
	n, err := strconv.Atoi(count)
	require.NoError(tb, err)
	var hosts []string
	for range n {
		server := servertest.Start(tb, kind)
		servers, hosts = append(servers, server), append(hosts, server.Addr())
	}
	return kind + "://" + strings.Join(hosts, ",") + "/0", servers
}

// opened is a lock, and the resources to close after its use.
type opened struct {
	locker.Lock
	database database
}

// open opens a new instance of the subject's lock, with a wait limit.
func (s Subject) open(ctx context.Context, wait time.Duration) (*opened, error) {
	db, err := openDatabase(ctx, s.Database)
	if err != nil {
		return nil, err
	}
	l, err := openLock(ctx, s, db, wait)
	return &opened{l, db}, err
}

func openLock(ctx context.Context, s Subject, db locker.Database, wait time.Duration) (locker.Lock, error) {
	o := locker.Options{TTL: s.TTL, Wait: wait, Log: verbose(), Database: db}
	if s.Flaw != FlawNone {
		return openFlawed(s.Lock, s.Flaw, o)
	}
	return locker.Open(ctx, s.Lock, o)
}

// Close closes the lock and its database.
func (o *opened) Close() error {
	err := o.Lock.Close()
	if o.database != nil {
		_ = o.database.Close()
	}
	return err
}

// verbose logs to the test's output when DRAWSVC_LOCKS_LOG is set.
func verbose() *slog.Logger {
	if os.Getenv("DRAWSVC_LOCKS_LOG") == "" {
		return nil
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Open opens the subject's lock with a wait limit, and the database that the lock needs.
// Closing the lock closes both.
func Open(ctx context.Context, s Subject, wait time.Duration) (locker.Lock, error) {
	return s.open(ctx, wait)
}
