package locker

import (
	"context"
	"database/sql"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/locker/locksql"
)

// Limits of a lock.
const (
	// TTLMin is the shortest lease.
	TTLMin = 100 * time.Millisecond
	// KeyMax is the maximum length of a key, in bytes.
	KeyMax = 128
	// opTimeout bounds each request to a lock service. So a caller learns within a second
	// that the service is silent.
	opTimeout = time.Second
)

// Options are shared by all locks.
type Options struct {
	// TTL is the length of a lease, at least TTLMin. It is also the maximum time for which
	// the lock stays taken after its holder's death. Some services round it up to whole
	// seconds, or to their own minimum.
	TTL time.Duration
	// Wait is the maximum wait for the lock. With 0, there is only one attempt.
	Wait time.Duration
	// Log gets events that are not returned to a caller as an error, such as a failed
	// release. nil discards them.
	Log *slog.Logger
	// Database is the service's own database. Only locks in that database use it.
	Database Database
}

// Database is the service's own database, as the locks in it use it.
type Database interface {
	// LockStatements returns the statements of the database's locks.
	LockStatements() locksql.Statements
	// LockDB is a pool of connections for locks only. On SQLite it is the only connection
	// for writes; no lock occupies that connection while its holder works.
	LockDB() *sql.DB
	// SharesSessions reports whether a proxy shares sessions between clients, so that locks
	// cannot rely on a session.
	SharesSessions() bool
}

// Lock is an open lock service. It satisfies lockmode.Locker.
type Lock interface {
	// WithLock runs fn while the lock on key (1 to KeyMax bytes) is held; see
	// lockmode.Locker. A nested call for the same key in fn's own context runs at once,
	// with the same token.
	WithLock(ctx context.Context, key string, fn func(ctx context.Context, token int64) error) error
	// Ping checks that the lock service answers; it takes at most a second.
	Ping(ctx context.Context) error
	// Close ends the connections that the lock opened, but not those of the database. No
	// call of WithLock may be under way or follow.
	Close() error
}

// kind is one kind of lock. Both functions get the part of the URL after the scheme.
// check uses neither a database nor a network.
type kind struct {
	check func(rest string) error
	open  func(rest string, o Options) (backend, error)
}

func registry() map[string]kind {
	return map[string]kind{
		"table":     {checkEmptyRest("table"), openTable},
		"row":       {checkEmptyRest("row"), openRow},
		"session":   {checkEmptyRest("session"), openSession},
		"redis":     {checkOf(redisOptions), openRedis},
		"zookeeper": {checkOf(zooKeeperPlace), openZooKeeper},
		"etcd":      {checkOf(etcdServers), openEtcd},
	}
}

// checkEmptyRest checks the URL of a lock in the service's own database.
func checkEmptyRest(scheme string) func(rest string) error {
	return func(rest string) error {
		if rest != "" {
			return draw.Errorf(draw.CodeInvalidRequest, "lock \"%s:\" takes nothing after the colon", scheme)
		}
		return nil
	}
}

// checkOf turns a function that reads a URL into a check.
func checkOf[T any](read func(rest string) (T, error)) func(rest string) error {
	return func(rest string) error {
		_, err := read(rest)
		return err
	}
}

// Check checks the URL of a lock as far as that is possible without a database. Error:
// CodeInvalidRequest.
func Check(url string) error {
	_, _, err := find(url)
	return err
}

func find(url string) (kind, string, error) {
	scheme, rest, found := strings.Cut(url, ":")
	k, known := registry()[scheme]
	if !found || !known {
		return k, "", draw.Errorf(draw.CodeInvalidRequest, "lock must be one of %s, as in \"table:\"", strings.Join(Schemes(), ", "))
	}
	return k, rest, k.check(rest)
}

// Schemes returns the kinds of locks, sorted. A kind is the part of a URL before the
// colon.
func Schemes() []string { return slices.Sorted(maps.Keys(registry())) }

// Open creates the lock that url names. It sends no request, so only Ping and draws
// detect a lock service that is down. Error: CodeInvalidRequest for an unknown scheme, a
// malformed URL, or a lock that the database does not have.
func Open(_ context.Context, url string, o Options) (Lock, error) {
	k, rest, err := find(url)
	if err != nil {
		return nil, err
	}
	if o.TTL < TTLMin || o.Wait < 0 {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "lock lease must be at least %s and the wait not negative", TTLMin)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b, err := k.open(rest, o)
	if err != nil {
		return nil, err
	}
	return &guard{backend: b, options: o, queue: newQueue()}, nil
}
