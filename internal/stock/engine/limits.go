package engine

import "time"

// The limits that all servers share.
const (
	// ConnectionsMax is the size of a pool of connections unless the URL says
	// otherwise. A pool that is drawn from needs one; three instances fit into
	// the hundred that PostgreSQL allows by default.
	ConnectionsMax = 10
	// AdminConnections are for changes, and ReadConnections for what is read
	// beside the draws: neither can use up those of the other.
	AdminConnections = 4
	ReadConnections  = 5
	// ProbeConnections are for the check of readiness alone.
	ProbeConnections = 1
	// MigrateConnections are one for the statements of a migration, one to keep
	// its lock alive.
	MigrateConnections = 2
	// ConnectMax bounds the making of a connection.
	ConnectMax = 3 * time.Second
	// IdleMax is how long a connection that nobody uses stays open.
	IdleMax = 5 * time.Minute
	// StatementMax bounds a statement of a draw.
	StatementMax = 5 * time.Second
	// MigrateMax is the longest that one statement of a migration may take.
	MigrateMax = 6 * time.Hour
	// RollbackMax bounds the end of a try that failed: the caller waits for
	// it, and a connection that does not answer within it is closed.
	RollbackMax = time.Second
)
