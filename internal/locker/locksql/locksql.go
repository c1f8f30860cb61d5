// Package locksql describes how a database implements the locks "table:", "row:" and
// "session:". The statements are in the dialect of each database. Package locker runs
// them, and does not depend on a particular database.
package locksql

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"
)

// Statements are the statements of a database's locks. A member is nil if the database
// does not have that lock.
type Statements struct {
	// Database is the kind of the database.
	Database string
	Table    *Table
	Row      *Row
	Session  *Session
}

// Table contains the statements of "table:". Times are in microseconds since 1970 by the
// database's clock.
type Table struct {
	// Limit bounds one query; 0 means a second. An SQLite file has a longer limit: no server
	// can be silent there, and a query mostly waits for the only connection that writes.
	Limit   time.Duration
	Take    string // owner, ttl, key: takes a free row, raises its token and returns the token
	Rest    string // key: the rest of the term, negative if the row is free
	Seed    string // key: creates a free row, unless the row exists
	Renew   string // ttl, key, owner
	Release string // key, owner
	// ByInsertID means that Take returns the token through LAST_INSERT_ID instead of a row.
	ByInsertID bool
}

// NewTable returns the statements for a database with RETURNING and ON CONFLICT. now is
// an expression for the database's time in microseconds.
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

// Row contains the statements of "row:". Each of them takes the key as its argument.
type Row struct {
	Pinned    Pinned
	Wait, Try string // lock the row: Wait waits for it, Try does not
	Seed      string // creates the row, unless it exists
}

// NewRow returns the statements for a database with NOWAIT. isThere is the clause after
// ON for an INSERT of an existing row.
func NewRow(p Pinned, isThere string) Row {
	const wait = `SELECT 1 FROM lock_rows WHERE key_id = ? FOR UPDATE`
	return Row{Pinned: p, Wait: wait, Try: wait + ` NOWAIT`, Seed: `INSERT INTO lock_rows (key_id, token) VALUES (?, 0) ON ` + isThere}
}

// Numbered returns the statements with the placeholders $1, $2, …
func (r Row) Numbered() *Row {
	r.Wait, r.Try, r.Seed = Numbered(r.Wait), Numbered(r.Try), Numbered(r.Seed)
	return &r
}

// Session contains the statements of "session:". Each of them takes the lock's name as
// its argument. Queries return 1 for yes and 0 or NULL for no.
type Session struct {
	Pinned Pinned
	Name   func(key string) any
	// Ask returns a query that requests the lock and waits for the remaining time.
	// isAnswered reports whether the query returns yes or no. If it does not, the lock is
	// granted when the query returns without an error.
	Ask func(left time.Duration) (question string, isAnswered bool)
	// Mine returns whether this session holds the lock. Free frees the lock.
	Mine, Free string
}

// Pinned contains the statements for a connection that stays with one holder.
type Pinned struct {
	// Prepare makes the server end a connection that is silent for ttl. It also limits the
	// wait of a query for a lock to wait, if the server has such a limit. It returns the
	// server's number for the connection.
	Prepare func(ctx context.Context, conn *sql.Conn, ttl, wait time.Duration) (id int64, err error)
	// Undo frees all locks that the connection may hold. Restore restores the original
	// settings of the connection; it is "" if Undo does that.
	Undo, Restore string
	// Interrupt ends the waiting query of connection %d. The response to that query then has
	// the code Interrupted.
	Interrupt, Interrupted string
	// End ends connection %d, which frees its locks.
	End string
	// Count raises and returns the token of a key. ByInsertID is as in Table.
	Count      string
	ByInsertID bool
}

// Numbered replaces the placeholders ? of a statement with $1, $2, …
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
