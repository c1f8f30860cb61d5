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
	// KeyMax is the longest key, in bytes.
	KeyMax = 128
	// opTimeout bounds every single question to a lock service, so that a
	// silent one is distinguished from a slow one within a second.
	opTimeout = time.Second
)

// Options are what all locks share.
type Options struct {
	// TTL is the length of a lease: after the death of its holder the lock
	// is free at the latest by then. At least TTLMin; some services round it
	// up to whole seconds or to a minimum of their own.
	TTL time.Duration
	// Wait is the longest wait for the lock; 0 tries once.
	Wait time.Duration
	// Log gets what no caller sees, such as a release that failed. nil
	// discards it.
	Log *slog.Logger
	// Database is the service's own, for the locks that live in it. The
	// others ignore it.
	Database Database
}

// Database is the service's own database, as the locks in it need it.
type Database interface {
	// LockStatements are those of the database's locks.
	LockStatements() locksql.Statements
	// LockDB is a pool of connections for locks alone; on SQLite the one
	// write connection, which no lock holds while its holder works.
	LockDB() *sql.DB
	// SharesSessions says that what belongs to a session cannot be relied on,
	// because a proxy hands sessions around.
	SharesSessions() bool
}

// Lock is an open lock service. It satisfies lockmode.Locker.
type Lock interface {
	// WithLock runs fn while the lock on key (1 to KeyMax bytes) is held, as
	// lockmode.Locker says. A nested call for the same key in fn's own
	// context runs at once, with the same token.
	WithLock(ctx context.Context, key string, fn func(ctx context.Context, token int64) error) error
	// Ping asks the lock service whether it answers; it takes a second at most.
	Ping(ctx context.Context) error
	// Close ends the connections that the lock opened, never the database's.
	// No WithLock may run or follow.
	Close() error
}

// kind is one kind of lock: both judge what follows the scheme in its URL, check
// without a database and without a question to anybody.
type kind struct {
	check func(rest string) error
	open  func(rest string, o Options) (backend, error)
}

func registry() map[string]kind {
	return map[string]kind{
		"table":     {nothingBehind("table"), openTable},
		"row":       {nothingBehind("row"), openRow},
		"session":   {nothingBehind("session"), openSession},
		"redis":     {checkOf(redisOptions), openRedis},
		"zookeeper": {checkOf(zooKeeperPlace), openZooKeeper},
		"etcd":      {checkOf(etcdServers), openEtcd},
	}
}

// nothingBehind is the check of a lock in the service's own database.
func nothingBehind(scheme string) func(rest string) error {
	return func(rest string) error {
		if rest != "" {
			return draw.Errorf(draw.CodeInvalidRequest, "lock \"%s:\" takes nothing after the colon", scheme)
		}
		return nil
	}
}

// checkOf is the check by what reads a URL.
func checkOf[T any](read func(rest string) (T, error)) func(rest string) error {
	return func(rest string) error {
		_, err := read(rest)
		return err
	}
}

// Check judges the URL of a lock as far as that goes without the database. Error:
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

// Schemes lists the kinds of lock, sorted: the parts of a URL before the colon.
func Schemes() []string { return slices.Sorted(maps.Keys(registry())) }

// Open makes the lock that url names. It asks no server anything, so that a
// lock service that is down is found by Ping and by draws, not here. An
// unknown scheme, a malformed URL or a lock that the database cannot give is
// draw.CodeInvalidRequest.
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
