package engine

import "time"

// The limits that all servers share.
const (
	// ConnectionsMax is the size of a pool of connections unless the URL says
	// otherwise. Each active prize pool needs one connection; three instances fit into
	// the hundred that PostgreSQL allows by default.
	ConnectionsMax = 10
	// AdminConnections are for changes, and ReadConnections are for reads other than
	// those of draws. They are separate so that one kind cannot use up the connections of
	// the other.
	AdminConnections = 4
	ReadConnections  = 5
	// ProbeConnections are only for the readiness check.
	ProbeConnections = 1
	// MigrateConnections are two connections: one runs the statements of a migration, and
	// one keeps the lock of the migration alive.
	MigrateConnections = 2
	// ConnectMax bounds the opening of a connection.
	ConnectMax = 3 * time.Second
	// IdleMax is the time after which an unused connection is closed.
	IdleMax = 5 * time.Minute
	// StatementMax bounds a statement of a draw.
	StatementMax = 5 * time.Second
	// MigrateMax is the maximum time of one statement of a migration.
	MigrateMax = 6 * time.Hour
	// RollbackMax bounds the rollback of a failed attempt, because the caller waits for
	// it. A connection that does not answer within that time is closed.
	RollbackMax = time.Second
)
