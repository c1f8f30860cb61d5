// Package locksql is how a database states the locks "table:", "row:" and "session:".
// Each database has its own statements beside its other words; package locker runs
// them, and knows no database by name.
package locksql

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"time"
)

// Statements are those of the locks that a database can give, nil for each that it
// cannot.
type Statements struct {
	// Database is the kind of the database.
	Database string
	Table    *Table
	Row      *Row
	Session  *Session
}

// Table are the statements of "table:". Times are microseconds since 1970 by the
// database's clock.
type Table struct {
	// Limit bounds one question, 0 for a second. A file, where no server is silent, has
	// more: what takes long there is the turn at the one connection that writes.
	Limit   time.Duration
	Take    string // owner, ttl, key: raises and returns the token of a free row
	Rest    string // key: the rest of the term, negative when free
	Seed    string // key: creates the row, free, unless it is there
	Renew   string // ttl, key, owner
	Release string // key, owner
	// ByInsertID is set where Take answers through LAST_INSERT_ID and not by a row.
	ByInsertID bool
}

// NewTable are the statements for a database with RETURNING and ON CONFLICT, whose clock
// an expression tells in microseconds.
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

// Numbered returns the statements with the places $1, $2, …
func (t Table) Numbered() *Table {
	for _, q := range []*string{&t.Take, &t.Rest, &t.Seed, &t.Renew, &t.Release} {
		*q = Numbered(*q)
	}
	return &t
}

// Row are the statements of "row:"; each takes the key.
type Row struct {
	Pinned    Pinned
	Wait, Try string // take the row, waiting or not
	Seed      string // creates the row unless it is there
}

// NewRow are the statements for a database with NOWAIT, which are the same but for what
// an INSERT does when the row is there.
func NewRow(p Pinned, isThere string) Row {
	const wait = `SELECT 1 FROM lock_rows WHERE key_id = ? FOR UPDATE`
	return Row{Pinned: p, Wait: wait, Try: wait + ` NOWAIT`, Seed: `INSERT INTO lock_rows (key_id, token) VALUES (?, 0) ON ` + isThere}
}

// Numbered returns the statements with the places $1, $2, …
func (r Row) Numbered() *Row {
	r.Wait, r.Try, r.Seed = Numbered(r.Wait), Numbered(r.Try), Numbered(r.Seed)
	return &r
}

// Session are the statements of "session:"; each takes the lock's name. Those that ask
// answer 1 for yes and 0 or NULL for no.
type Session struct {
	Pinned Pinned
	Name   func(key string) any
	// Ask is a question for the lock that waits as long as there is time left, and
	// whether it is answered: else it is granted as soon as the question returns.
	Ask func(left time.Duration) (question string, isAnswered bool)
	// Mine asks whether this session holds the lock, Free frees it.
	Mine, Free string
}

// Pinned is what is said on a connection that stays with one holder.
type Pinned struct {
	// Prepare makes the server end a connection that is silent for ttl, and a question
	// that waits for a lock longer than wait as well as the server can, and returns the
	// server's number for the connection.
	Prepare func(ctx context.Context, conn *sql.Conn, ttl, wait time.Duration) (id int64, err error)
	// Undo frees all that the connection may hold; Restore gives it its own settings
	// back, and is empty where Undo does.
	Undo, Restore string
	// Interrupt ends the question that waits on connection %d; its answer then has the
	// code Interrupted.
	Interrupt, Interrupted string
	// End ends connection %d and what it holds.
	End string
	// Count raises and returns the token of a key; ByInsertID is as in Table.
	Count      string
	ByInsertID bool
}

// Numbered turns the places ? of a statement into $1, $2, …
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
