// Package migrations holds the schema of each database as embedded SQL, with
// the same numbers in each folder. The schema keeps law 2 of the house: it
// says by itself that nothing is issued beyond stock, that no two awards come
// from one state of an urn, and that a draw's name is used once.
package migrations

import "embed"

// FS holds one folder for each database: postgres, mysql and sqlite.
//
//go:embed postgres/*.sql mysql/*.sql sqlite/*.sql
var FS embed.FS
