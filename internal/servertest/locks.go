package servertest

import (
	"slices"
	"testing"
)

// LockServers describes the servers that a lock needs.
type LockServers struct {
	// Kinds are the kinds of server that the lock works on; "sqlite" is a file.
	Kinds []string
	// InDatabase means that the lock is in the service's own database. Its URL then names no
	// server.
	InDatabase bool
	// OnTiDB means that the lock also works in a TiDB database.
	OnTiDB bool
	// Majority means that the lock also works on three servers at once.
	Majority bool
	// shared returns the URL of a server on which no other test takes locks; nil for a
	// lock in the database.
	shared func(testing.TB) string
}

// Locks returns what each lock needs, by its scheme.
func Locks() map[string]LockServers {
	return map[string]LockServers{
		"table":     {Kinds: []string{"sqlite", "postgres", "mysql"}, InDatabase: true, OnTiDB: true},
		"row":       {Kinds: []string{"postgres", "mysql"}, InDatabase: true},
		"session":   {Kinds: []string{"postgres", "mysql"}, InDatabase: true},
		"redis":     {Kinds: []string{"redis"}, Majority: true, shared: Redis},
		"zookeeper": {Kinds: []string{"zookeeper"}, shared: ZooKeeper},
		"etcd":      {Kinds: []string{"etcd"}, shared: Etcd},
	}
}

// LockURL returns the URL of a lock that no other test uses, although other tests use the
// same servers. If the scheme is not in the table, the test fails.
func LockURL(tb testing.TB, scheme string) string {
	tb.Helper()
	l, known := Locks()[scheme]
	switch {
	case !known:
		tb.Fatalf("servertest: the lock %q needs a line in the table of locks", scheme)
	case !l.InDatabase:
		return l.shared(tb)
	}
	return scheme + ":"
}

// WorksOn reports whether the lock can be used with a database of the dialect.
func (l LockServers) WorksOn(dialect string) bool {
	return !l.InDatabase || slices.Contains(l.Kinds, dialect) || dialect == TiDB && l.OnTiDB
}
