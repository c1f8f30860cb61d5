package engine

import "time"

// The limits that all servers share.
const (
	// ConnectionsMax is the size of a pool of connections unless the URL says
	// otherwise. Each active prize pool needs one connection; three instances fit into
	// the hundred that PostgreSQL allows by default.
	ConnectionsMax = 10
	// AdminConnections are for changes, and ReadConnections for reads other than those
	// of draws: neither can use up the other's.
	AdminConnections = 4
	ReadConnections  = 5
	// ProbeConnections are only for the readiness check.
	ProbeConnections = 1
	// MigrateConnections are one for the statements of a migration, and one to keep its
	// lock alive.
	MigrateConnections = 2
	// ConnectMax bounds the opening of a connection.
	ConnectMax = 3 * time.Second
	// IdleMax is how long an unused connection stays open.
	IdleMax = 5 * time.Minute
	// StatementMax bounds a statement of a draw.
	StatementMax = 5 * time.Second
	// MigrateMax is the maximum time of one statement of a migration.
	MigrateMax = 6 * time.Hour
	// RollbackMax bounds the rollback of a failed attempt: the caller waits for it, and
	// a connection that does not answer within it is closed.
	RollbackMax = time.Second
)
