package engine

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"github.com/Masterminds/squirrel"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"drawsvc/internal/locker/locksql"
)

// Dialect holds the differences between kinds of databases.
type Dialect struct {
	Name string
	// VersionPart is a part of the version that servers of this dialect report. Variable
	// is a system variable that only they have. Either one identifies such a server,
	// because an operator may have set another version. Both are "" unless a URL of
	// another dialect may lead to it.
	VersionPart, Variable string
	// Open connects to the database that rawURL names.
	Open func(ctx context.Context, d *Dialect, rawURL string, o Options) (*Engine, error)
	// ByCode classifies an error by its code; it returns nil if the error has no code.
	ByCode func(error) *Error
	// IsNoTable reports whether an error means that a table does not exist.
	IsNoTable func(error) bool
	// Placeholder is the form of a statement's parameters, and Time converts a time to
	// the form in which the database stores it.
	Placeholder squirrel.PlaceholderFormat
	Time        func(time.Time) any
	// ForUpdate follows a SELECT and locks the rows that the SELECT reads.
	ForUpdate string
	// Clock is an expression for the server's time; "" if that is this machine's time.
	Clock string
	// Writable is an expression that is true on a server that can be written to. It is
	// false on a standby and on a read-only server.
	Writable string
	// Change are the options of a transaction that changes rows, and Snapshot are those
	// of one that reads a single state of the database.
	Change, Snapshot sql.TxOptions
	// Commit commits tx, a transaction on conn. If it is nil, tx.Commit is called
	// instead. An error means that the commit is not acknowledged.
	Commit func(conn *sql.Conn, tx *sql.Tx) error
	// Session lists further settings that the engine of MySQL makes in each session.
	Session []string
	// BeforeMigrate, if set, is called before the schema is migrated, even if nothing is
	// pending. It returns an error if the server would not keep all of the schema.
	BeforeMigrate func(ctx context.Context, e *Engine) error
	// ReadRows, if set, reads rows faster than package database/sql.
	ReadRows ReadRows
	// ByKey, if set, is a statement for the beginning of a transaction. It makes the
	// planner find rows through keys and in the order of a key, whatever size it assumes
	// for a table. A table that was just filled has no statistics, or old ones.
	ByKey string
	// AwardPrize is a JOIN that adds to each of the awards AS a its prize AS p.
	AwardPrize string
	// TurnAward is a JOIN that adds to each of the turns AS t its award AS a.
	TurnAward string
	// CodeRanges, if set, is one statement that reads the codes of many ranges, and whose
	// text does not depend on their number. It returns the columns prize_id, place,
	// key_id and sealed. Its parameters are a pool, and arrays of prizes, first places
	// and last places.
	CodeRanges string
	// NamedAwards and StepsOf, if set, are JOINs that find rows by key for each value of
	// an array, in the pool AS own. NamedAwards finds awards AS a by the ids of draws,
	// and StepsOf finds steps AS s by the versions of awards.
	NamedAwards, StepsOf string
	// CodeOnce is a query. It returns 0 if the unique constraint code_once is missing,
	// else 1.
	CodeOnce string
	// Restock is the end of an INSERT of prizes: for prizes that already exist, it
	// changes the stock. An INSERT finds the rows through their key. An UPDATE of many
	// rows leaves the choice to the planner. On a table without statistics, PostgreSQL
	// then reads the whole pool for each part.
	Restock string
	// Settle, if set, is a statement whose commit waits until all earlier commits are
	// as safe as an acknowledged one.
	Settle string
	// Locks are the statements of the locks in the database.
	Locks locksql.Statements
	// Doctor checks up the database.
	Doctor Doctor
	// Standbys reads the state of the replication; nil for a database without one.
	Standbys func(ctx context.Context, e *Engine) (Standbys, error)
	// BackupTools are the backup programs of the database; "" for a file.
	BackupTools string
	// Features records the parts of the schema that the database lacks; nil means none.
	Features *Features
	// Migrations is the dialect's name in package goose, and Folder is the folder of its
	// migrations.
	Migrations goose.Dialect
	Folder     string
	// Migrating excludes concurrent migrations by several processes. It is nil if only
	// one process can use the database.
	Migrating func(...lock.TableLockerOption) (lock.Locker, error)
}

// Part is a part of the schema that older schemas lack.
type Part int

// The parts, in the order of their migrations.
const (
	PartCodes Part = iota // the codes of prizes
	PartSteps             // the steps of awards
	PartHooks
	PartFeed    // the feed over all pools
	PartMoments // moments, and items that are hidden
	PartDisplays
	partsEnd
)

// Features records which parts an older schema lacks. The check of the schema sets it.
type Features struct{ lacks [partsEnd]atomic.Bool }

// SetLacks records whether the schema is older than a part, and so lacks it.
func (f *Features) SetLacks(p Part, lacks bool) { f.lacks[p].Store(lacks) }

// Lacks reports whether the schema is older than a part, and so lacks it.
func (d *Dialect) Lacks(p Part) bool { return d.Features != nil && d.Features.lacks[p].Load() }

// NotDue returns the condition by which a guarded write rejects a plan if an item of the
// agenda is due. If the dialect has no clock, the current time is a parameter.
func (d *Dialect) NotDue(table string) string {
	clock := d.Clock
	if clock == "" {
		clock = "?"
	}
	//double:late-ticker due_at IS NULL OR => due_at IS NULL OR TRUE OR
	return ` AND (` + table + `due_at IS NULL OR ` + table + `due_at > ` + clock + `)`
}

// These values are shared by several dialects.
const (
	// AwardPrize is for planners that read the tables of a LEFT JOIN in the written
	// order. They use the primary key if the condition names all its columns.
	AwardPrize = `LEFT JOIN prizes AS p ON p.pool_id = a.pool_id AND p.id = a.prize_id`
	// TurnAward is for the same planners.
	TurnAward = `LEFT JOIN awards AS a ON a.pool_id = t.pool_id AND a.version = t.version`
	// Restock is for databases with the clause ON CONFLICT.
	Restock = `ON CONFLICT (pool_id, id) DO UPDATE SET stocked = excluded.stocked, changed = excluded.changed`
)

// SameTime returns t unchanged, for drivers that support times.
func SameTime(t time.Time) any { return t }
