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
// [CodesSchema]. Before schema 8 no award has steps: see [StepsSchema].
const OldestSchema = 6

// CodesSchema is the first schema that has codes. A binary that works on an older one
// reads none, and makes no prize with codes.
const CodesSchema = 7

// StepsSchema is the first schema that has steps of awards. A binary that works on an older
// one reads none, and puts no rules with claims in force.
const StepsSchema = 8

// HooksSchema is the first schema that has hooks. A binary that works on an older one has
// none, and creates none.
const HooksSchema = 9

// FeedSchema is the first schema that has the feed over all pools, and what is only shown
// of pools. A binary that works on an older one has neither.
const FeedSchema = 10

// MomentsSchema is the first schema that has moments, and items that are hidden until they
// are done. A binary that works on an older one plans no moment.
const MomentsSchema = 11

// DisplaysSchema is the first schema that has what is only shown of prizes, and the texts
// and pages of fairness of pools. A binary that works on an older one shows none.
const DisplaysSchema = 12

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
