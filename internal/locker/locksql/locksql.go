// Package locksql describes how a database implements the locks "table:", "row:" and
// "session:". Each database has its own statements in its dialect; package locker runs
// them, and does not depend on a particular database.
package locksql

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"
)

// Statements are the statements of a database's locks, nil for each lock that it does
// not have.
type Statements struct {
	// Database is the kind of the database.
	Database string
	Table    *Table
	Row      *Row
	Session  *Session
}

// Table holds the statements of "table:". Times are microseconds since 1970 by the
// database's clock.
type Table struct {
	// Limit bounds one query; 0 means a second. For a file it is longer. No server can be
	// silent there, and a query mostly waits for the only writing connection.
	Limit   time.Duration
	Take    string // owner, ttl, key: raises and returns the token of a free row
	Rest    string // key: the rest of the term, negative if the row is free
	Seed    string // key: creates the row as a free one, unless it is there
	Renew   string // ttl, key, owner
	Release string // key, owner
	// ByInsertID is set if Take returns through LAST_INSERT_ID and not in a row.
	ByInsertID bool
}

// NewTable returns the statements for a database with RETURNING and ON CONFLICT; now is
// an expression for its clock in microseconds.
func NewTable(now string) Table {
	return Table{
		Take: `UPDATE locks SET owner = ?, token = token + 1, expires_at = ` + now + ` + ?
			WHERE key_id = ? AND expires_at <= ` + now + ` RETURNING token`,
		Rest:    `SELECT expires_at - ` + now + ` FROM locks WHERE key_id = ?`,
		Seed:    `INSERT INTO locks (key_id, owner, token, expires_at) VALUES (?, '', 0, 0) ON CONFLICT (key_id) DO NOTHING`,
		Renew:   `UPDATE locks SET expires_at = ` + now + ` + ? WHERE key_id = ? AND owner = ? AND expires_at > ` + now,
		Release: `UPDATE locks SET owner = '', expires_at = 0 WHERE key_id = ? AND owner = ?`,
	}
}

// Numbered returns the statements with the placeholders $1, $2, …
func (t Table) Numbered() *Table {
	for _, q := range []*string{&t.Take, &t.Rest, &t.Seed, &t.Renew, &t.Release} {
		*q = Numbered(*q)
	}
	return &t
}

// Row holds the statements of "row:"; each takes the key.
type Row struct {
	Pinned    Pinned
	Wait, Try string // take the row, waiting or not
	Seed      string // creates the row unless it is there
}

// NewRow returns the statements for a database with NOWAIT. isThere is what an INSERT
// does if the row exists.
func NewRow(p Pinned, isThere string) Row {
	const wait = `SELECT 1 FROM lock_rows WHERE key_id = ? FOR UPDATE`
	return Row{Pinned: p, Wait: wait, Try: wait + ` NOWAIT`, Seed: `INSERT INTO lock_rows (key_id, token) VALUES (?, 0) ON ` + isThere}
}

// Numbered returns the statements with the placeholders $1, $2, …
func (r Row) Numbered() *Row {
	r.Wait, r.Try, r.Seed = Numbered(r.Wait), Numbered(r.Try), Numbered(r.Seed)
	return &r
}

// Session holds the statements of "session:"; each takes the lock's name. Queries
// return 1 for yes and 0 or NULL for no.
type Session struct {
	Pinned Pinned
	Name   func(key string) any
	// Ask returns a query that requests the lock and waits for the remaining time.
	// isAnswered reports whether the query returns yes or no. Otherwise the lock is
	// granted as soon as the query returns.
	Ask func(left time.Duration) (question string, isAnswered bool)
	// Mine asks whether this session holds the lock; Free frees it.
	Mine, Free string
}

// Pinned holds the statements for a connection that stays with one holder.
type Pinned struct {
	// Prepare makes the server end a connection that is silent for ttl. As far as the
	// server can, it also ends a query that waits for a lock longer than wait. It returns
	// the server's number for the connection.
	Prepare func(ctx context.Context, conn *sql.Conn, ttl, wait time.Duration) (id int64, err error)
	// Undo frees all locks that the connection may hold. Restore restores the
	// connection's own settings; it is empty if Undo does that.
	Undo, Restore string
	// Interrupt ends the query that waits on connection %d; its response then has the
	// code Interrupted.
	Interrupt, Interrupted string
	// End ends connection %d, which frees its locks.
	End string
	// Count raises and returns the token of a key; ByInsertID is as in Table.
	Count      string
	ByInsertID bool
}

// Numbered replaces the placeholders ? of a statement by $1, $2, …
func Numbered(query string) string {
	var b strings.Builder
	for i, part := range strings.Split(query, "?") {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}
