package stock

import (
	"context"
	"database/sql"
	"slices"

	"github.com/Masterminds/squirrel"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// dialect is what one kind of database does differently.
type dialect struct {
	name string
	// open connects s to the database that rawURL names.
	open func(ctx context.Context, s *Store, rawURL string) error
	// classify tells an error by its code; nil when the error has no code.
	classify func(error) *Error
	// isNoTable says that an error means that a table is not there.
	isNoTable func(error) bool
	// placeholder is how a statement's parameters are written.
	placeholder squirrel.PlaceholderFormat
	// forUpdate, behind a SELECT, locks the rows that it reads.
	forUpdate string
	// writable is an expression that says whether the server that evaluates it
	// can be written: a standby or a server that is read-only cannot.
	writable string
	// change is a transaction that changes rows, snapshot one that reads one
	// state of the database.
	change, snapshot sql.TxOptions
	// commit commits tx, which is on conn; nil for tx.Commit. An error means
	// that the commit is not acknowledged.
	commit func(conn *sql.Conn, tx *sql.Tx) error
	// byKey, where set, is a statement for the beginning of a transaction: the
	// planner then finds rows through keys and in the order of a key, whatever
	// it believes of the size of a table. A table that was filled a moment ago
	// has no statistics, or those from before.
	byKey string
	// awardPrize joins the prize of each of awards AS a, as p.
	awardPrize string
	// migrations is the dialect's name in package goose, and its folder.
	migrations goose.Dialect
	folder     string
	// migrating keeps migrations by several processes apart; nil where one
	// process has the database for itself.
	migrating func(...lock.TableLockerOption) (lock.Locker, error)
	// doctor knows what the database can have wrong.
	doctor doctor
}

// awardPrize is for planners that take the tables of a LEFT JOIN in their
// order, and look a row up through its primary key when all of it is given.
const awardPrize = `LEFT JOIN prizes AS p ON p.pool_id = a.pool_id AND p.id = a.prize_id`

// dialects is the registry: a further database is one file and one line.
func dialects() map[string]*dialect {
	return map[string]*dialect{
		"sqlite":     sqliteDialect(),
		"postgres":   postgresDialect(),
		"postgresql": postgresDialect(),
		"mysql":      mysqlDialect(),
	}
}

// Dialects returns the names of all kinds of database, for tests that range
// over them.
func Dialects() []string {
	var names []string
	for _, d := range dialects() {
		if !slices.Contains(names, d.name) {
			names = append(names, d.name)
		}
	}
	slices.Sort(names)
	return names
}
