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
	// VersionPart is a part of the servers' version, and Variable a system variable
	// that only these servers have. Both are set if URLs of another dialect may lead to
	// such a server, otherwise they are "". Either one identifies it, because an
	// operator may have set another version.
	VersionPart, Variable string
	// Open connects to the database that rawURL names.
	Open func(ctx context.Context, d *Dialect, rawURL string, o Options) (*Engine, error)
	// ByCode classifies an error by its code; it returns nil if the error has no code.
	ByCode func(error) *Error
	// IsNoTable reports whether an error means that a table does not exist.
	IsNoTable func(error) bool
	// Placeholder is how a statement's parameters are written, Time how a time is
	// stored.
	Placeholder squirrel.PlaceholderFormat
	Time        func(time.Time) any
	// ForUpdate, after a SELECT, locks the rows that it reads.
	ForUpdate string
	// Clock is an expression for the server's time; "" if that is this machine's time.
	Clock string
	// Writable is an expression for whether the server that evaluates it can be written
	// to: a standby or a read-only server cannot.
	Writable string
	// Change is a transaction that changes rows, Snapshot one that reads one
	// state of the database.
	Change, Snapshot sql.TxOptions
	// Commit commits tx, which is on conn; nil means tx.Commit. An error means that the
	// commit is not acknowledged.
	Commit func(conn *sql.Conn, tx *sql.Tx) error
	// Session are further settings of each session, for the engine of MySQL.
	Session []string
	// BeforeMigrate, if set, is called before the schema is migrated, even if nothing is
	// pending. It returns an error if the server would not keep all of the schema.
	BeforeMigrate func(ctx context.Context, e *Engine) error
	// ReadRows, if set, reads rows faster than package database/sql.
	ReadRows ReadRows
	// ByKey, if set, is a statement for the beginning of a transaction: the planner
	// then finds rows through keys and in the order of a key, whatever size it assumes
	// for a table. It needs that because a table that was filled a moment ago has no
	// statistics, or old ones.
	ByKey string
	// AwardPrize joins the prize of each of awards AS a, as p.
	AwardPrize string
	// TurnAward joins the award of each of turns AS t, as a.
	TurnAward string
	// CodeRanges, if set, reads the codes of many ranges by one statement, whose text does
	// not depend on their number: the columns prize_id, place, key_id and sealed. Its
	// parameters are a pool, and arrays of prizes and of their first and last places.
	CodeRanges string
	// CodeOnce returns 0 where the unique constraint code_once is missing, else 1.
	CodeOnce string
	// Restock is the end of an INSERT of prizes: it changes the stock of prizes that
	// exist. An INSERT finds the rows through their key. For an UPDATE of many rows the
	// planner chooses, and PostgreSQL, on a table without statistics, read the whole
	// pool for each part.
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
	// Features are those of the schema that the database has; nil means all.
	Features *Features
	// Migrations is the dialect's name in package goose, Folder the name of its folder
	// of SQL.
	Migrations goose.Dialect
	Folder     string
	// Migrating excludes concurrent migrations by several processes; nil if one process
	// has the database for itself.
	Migrating func(...lock.TableLockerOption) (lock.Locker, error)
}

// Part is a part of the schema that older ones lack.
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

// Features are the parts that an older schema may lack. The check of the schema notes
// it.
type Features struct{ lacks [partsEnd]atomic.Bool }

// SetLacks notes whether the schema is from before a part.
func (f *Features) SetLacks(p Part, lacks bool) { f.lacks[p].Store(lacks) }

// Lacks reports whether the schema is from before a part.
func (d *Dialect) Lacks(p Part) bool { return d.Features != nil && d.Features.lacks[p].Load() }

// NotDue returns the part of a guarded write that rejects a plan if an item of the
// agenda is due before it. If the dialect has no clock, the time is a parameter.
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
	// AwardPrize is for planners that take the tables of a LEFT JOIN in their
	// order, and find a row through its primary key when all of it is given.
	AwardPrize = `LEFT JOIN prizes AS p ON p.pool_id = a.pool_id AND p.id = a.prize_id`
	// TurnAward is for the same planners.
	TurnAward = `LEFT JOIN awards AS a ON a.pool_id = t.pool_id AND a.version = t.version`
	// Restock is for databases with the clause ON CONFLICT.
	Restock = `ON CONFLICT (pool_id, id) DO UPDATE SET stocked = excluded.stocked, changed = excluded.changed`
)

// SameTime is for drivers that support times.
func SameTime(t time.Time) any { return t }
