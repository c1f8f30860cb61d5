package migrations

import (
	"embed"
	"io/fs"
)

//go:embed postgres/*.sql mysql/*.sql sqlite/*.sql
var files embed.FS

// OldestSchema is the lowest schema version that this binary can work on. The binary
// starts on such a schema, and serves until somebody migrates.
//
// It is 6 because of two values in a pool's row: when the next item of the agenda is due,
// and the commitment. Every read of a pool reads both, and every guarded write the first.
// An older schema has no columns for them. On schema 6 no prize has codes: see
// [CodesSchema]. Before schema 8 no award has steps: see [StepsSchema].
const OldestSchema = 6

// CodesSchema is the first schema that has codes. On an older schema, a binary reads no
// codes and creates no prize with codes.
const CodesSchema = 7

// StepsSchema is the first schema that has steps of awards. On an older schema, a binary
// reads no steps and puts no rules with claims in force.
const StepsSchema = 8

// HooksSchema is the first schema that has hooks. On an older schema, a binary has no
// hooks and creates none.
const HooksSchema = 9

// FeedSchema is the first schema that has the feed over all pools, and the texts of pools
// that are only shown. On an older schema, a binary has neither.
const FeedSchema = 10

// MomentsSchema is the first schema that has moments, and items that are hidden until
// they are done. On an older schema, a binary plans no moment.
const MomentsSchema = 11

// DisplaysSchema is the first schema that has texts and images of prizes, which are only
// shown, and texts and pages of fairness of pools. On an older schema, a binary shows
// none of them.
const DisplaysSchema = 12

// Set is the schema that a binary contains.
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
