package stock

import "database/sql"

// ReadDB returns the connections that read, for tests that count what is read
// on them.
func (s *Store) ReadDB() *sql.DB { return s.engine.Read }
