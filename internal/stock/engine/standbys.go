package engine

// Standbys is the state of the replication of a database.
type Standbys struct {
	// Connected is the number of standbys, replicas or other nodes that are connected to
	// the server; 0 if the server itself is a standby.
	Connected int
	// Required is how many standbys must confirm a commit, according to the server's
	// settings.
	Required int
}
