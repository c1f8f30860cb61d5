package migrations

import (
	"embed"
	"io/fs"
)

//go:embed postgres/*.sql mysql/*.sql sqlite/*.sql
var files embed.FS

// OldestSchema is the lowest schema version that this binary can work on: it
// starts on an older schema than its own, down to this one, and serves until
// somebody migrates.
//
// It is 6 because every read of a pool, and every guarded write, asks when the
// next item of its agenda is due, and every read for its commitment: an older
// schema has no place for them. On schema 6 no prize has codes: see
// [CodesSchema].
const OldestSchema = 6

// CodesSchema is the first schema that has codes. A binary that works on an older one
// reads none, and makes no prize with codes.
const CodesSchema = 7

// Set is the schema that a binary brings along.
type Set struct {
	// Files holds one folder of numbered SQL for each database: postgres, mysql
	// and sqlite.
	Files fs.FS
	// OldestSchema is the lowest schema version that the binary can work on, at
	// least 1.
	OldestSchema int64
}

// Embedded returns the set of this binary.
func Embedded() Set { return Set{Files: files, OldestSchema: OldestSchema} }
