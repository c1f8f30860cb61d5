package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// Log is a table with one kind of entries of the pools' ordered history. Each entry has
// the column pool_id, the columns of the Log, and usually the column at with its time.
// Every statement that appends to the history or reads it is built from a Log.
type Log[T any] struct {
	Table   string
	Columns []Column[T]
	// at is nil for entries without a time of their own.
	at func(*T) *time.Time
}

// Column is one column of a log.
type Column[T any] struct {
	// Name is the column's name, and Type is its type in PostgreSQL.
	Name, Type string
	// read returns the expression that reads the column.
	read func(name string) string
	// value returns the value to write for an entry. list returns the values for many
	// entries. field returns the place to scan into.
	value func(*T) any
	list  func(parts [][]T) any
	field func(*T) any
}

// column returns a column that is read as it was written.
func column[T, V any](name, sqlType string, value func(*T) V, field func(*T) any) Column[T] {
	return Column[T]{
		Name: name, Type: sqlType, field: field,
		read:  func(name string) string { return name },
		value: func(entry *T) any { return value(entry) },
		list: func(parts [][]T) any {
			all := make([]V, 0, sizeOf(parts))
			for _, part := range parts {
				for i := range part {
					all = append(all, value(&part[i]))
				}
			}
			return all
		},
	}
}

// orNull returns the column for a text that is NULL if it is empty.
func (c Column[T]) orNull() Column[T] {
	c.read = func(name string) string { return `COALESCE(` + name + `, '')` }
	return c
}

func sizeOf[T any](parts [][]T) (n int) {
	for _, part := range parts {
		n += len(part)
	}
	return n
}

// Awards is the log of awards. Another column of an award needs one line here, its
// migrations and its place on the wire.
func Awards() Log[draw.Award] {
	type award = draw.Award
	return Log[award]{"awards", []Column[award]{
		column("version", "bigint", func(a *award) int64 { return a.Version }, func(a *award) any { return &a.Version }),
		column("draw_id", "text", func(a *award) string { return a.DrawID }, func(a *award) any { return &a.DrawID }),
		column("ordinal", "smallint", func(a *award) int16 { return int16(a.Ordinal) }, func(a *award) any { return &a.Ordinal }),
		column("user_id", "text", func(a *award) string { return a.UserID }, func(a *award) any { return &a.UserID }),
		column("prize_id", "text", func(a *award) string { return a.PrizeID }, func(a *award) any { return &a.PrizeID }),
		column("unit", "bigint", func(a *award) int64 { return a.Unit }, func(a *award) any { return &a.Unit }),
	}, func(a *award) *time.Time { return &a.At }}
}

// Moves is the log of moves.
func Moves() Log[draw.Move] {
	type move = draw.Move
	return Log[move]{"moves", []Column[move]{
		column("version", "bigint", func(m *move) int64 { return m.Version }, func(m *move) any { return &m.Version }),
		column("prize_id", "text", func(m *move) string { return m.PrizeID }, func(m *move) any { return &m.PrizeID }),
		column("delta", "bigint", func(m *move) int64 { return m.Delta }, func(m *move) any { return &m.Delta }),
		column("reason", "text", func(m *move) string { return m.Reason }, func(m *move) any { return &m.Reason }),
		column("actor", "text", func(m *move) string { return m.Actor }, func(m *move) any { return &m.Actor }),
		column("key_id", "text", func(m *move) any { return Optional(m.Key) }, func(m *move) any { return &m.Key }).orNull(),
		column("stocked", "bigint", func(m *move) int64 { return m.Stocked }, func(m *move) any { return &m.Stocked }),
		column("issued", "bigint", func(m *move) int64 { return m.Issued }, func(m *move) any { return &m.Issued }),
	}, func(m *move) *time.Time { return &m.At }}
}

// Changes is the log of changes.
func Changes() Log[draw.Change] {
	type change = draw.Change
	return Log[change]{"changes", []Column[change]{
		column("version", "bigint", func(c *change) int64 { return c.Version }, func(c *change) any { return &c.Version }),
		column("what", "text", func(c *change) string { return string(c.What) }, func(c *change) any { return (*string)(&c.What) }),
		column("body", "text", func(c *change) string { return c.Body }, func(c *change) any { return &c.Body }),
		column("actor", "text", func(c *change) string { return c.Actor }, func(c *change) any { return &c.Actor }),
	}, func(c *change) *time.Time { return &c.At }}
}

// Turns is the log of subjects' turns, in pools whose rules count draws or wins.
func Turns() Log[draw.Turn] {
	type turn = draw.Turn
	return Log[turn]{"turns", []Column[turn]{
		column("user_id", "text", func(t *turn) string { return t.Subject }, func(t *turn) any { return &t.Subject }),
		column("what", "text", func(t *turn) string { return string(t.Counted) }, func(t *turn) any { return (*string)(&t.Counted) }),
		column("seq", "bigint", func(t *turn) int64 { return t.Seq }, func(t *turn) any { return &t.Seq }),
		column("version", "bigint", func(t *turn) int64 { return t.Version }, func(t *turn) any { return &t.Version }),
		column("run", "bigint", func(t *turn) int64 { return t.Run }, func(t *turn) any { return &t.Run }),
	}, func(t *turn) *time.Time { return &t.At }}
}

// Redirected is the redirect of one award: the unit that the rules replaced.
type Redirected struct {
	Version int64
	draw.Redirect
}

// Redirects is the log of the awards' redirects.
func Redirects() Log[Redirected] {
	type redirect = Redirected
	return Log[redirect]{"redirects", []Column[redirect]{
		column("version", "bigint", func(r *redirect) int64 { return r.Version }, func(r *redirect) any { return &r.Version }),
		column("drawn", "text", func(r *redirect) *string { return OrNull(r.Drawn) }, func(r *redirect) any { return &r.Drawn }).orNull(),
		column("why", "text", func(r *redirect) string { return string(r.Why) }, func(r *redirect) any { return (*string)(&r.Why) }),
	}, nil}
}

// RedirectsOf returns the redirects of a plan.
func RedirectsOf(p *urn.Plan) (all []Redirected) {
	for i := range p.Awards {
		if r := p.Awards[i].Redirect; r != nil {
			all = append(all, Redirected{p.Awards[i].Version, *r})
		}
	}
	return all
}

// OrNull returns a pointer to s, or nil if s is empty.
func OrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Append returns a statement that appends entries of a pool. at is their time, in the
// form in which the database stores times.
func (l Log[T]) Append(poolID string, at any, entries []T) Statement {
	return Statement{SQL: l.Insert(len(entries)), Args: l.Args(poolID, at, entries), Rows: int64(len(entries))}
}

// Insert returns the text of a statement that appends n entries.
func (l Log[T]) Insert(n int) string {
	row := "(" + List("?", len(l.Columns)+len(l.lead(nil))+1) + ")"
	return l.into() + " VALUES " + List(row, n)
}

// Args returns the arguments of Insert.
func (l Log[T]) Args(poolID string, at any, entries []T) []any {
	args := make([]any, 0, (len(l.Columns)+2)*len(entries))
	for i := range entries {
		args = l.appendValues(append(append(args, poolID), l.lead(at)...), &entries[i])
	}
	return args
}

func (l Log[T]) appendValues(args []any, entry *T) []any {
	for i := range l.Columns {
		args = append(args, l.Columns[i].value(entry))
	}
	return args
}

// InsertFrom returns the text of a statement that appends the result of a query, whose
// columns are pool_id, at and those of the log.
func (l Log[T]) InsertFrom(query string) string { return l.into() + " " + query }

func (l Log[T]) into() string {
	at := ""
	if l.at != nil {
		at = "at, "
	}
	return `INSERT INTO ` + l.Table + ` (pool_id, ` + at + l.Names("") + `)`
}

// lead returns the value of the column at, for entries that have a time.
func (l Log[T]) lead(at any) []any {
	if l.at == nil {
		return nil
	}
	return []any{at}
}

// Names returns the names of the columns, each after a prefix such as "a.".
func (l Log[T]) Names(prefix string) string {
	return l.join(func(_ int, c Column[T]) string { return prefix + c.Name })
}

// Rows returns the entries, each as a list of its values.
func (l Log[T]) Rows(entries []T) [][]any {
	cells := make([]any, 0, len(l.Columns)*len(entries))
	rows := make([][]any, len(entries))
	for i := range entries {
		from := len(cells)
		cells = l.appendValues(cells, &entries[i])
		rows[i] = cells[from:]
	}
	return rows
}

// Lists returns the columns of all entries, each as a list of its values.
func (l Log[T]) Lists(parts ...[]T) []any {
	lists := make([]any, len(l.Columns))
	for i := range l.Columns {
		lists[i] = l.Columns[i].list(parts)
	}
	return lists
}

// Arrays returns PostgreSQL's parameters for the result of Lists, numbered from first.
func (l Log[T]) Arrays(first int) string {
	return l.join(func(i int, c Column[T]) string { return fmt.Sprintf("$%d::%s[]", first+i, c.Type) })
}

// Read returns the expressions to scan into Fields, with a prefix before each column.
func (l Log[T]) Read(prefix string) string {
	read := l.join(func(_ int, c Column[T]) string { return c.read(prefix + c.Name) })
	if l.at == nil {
		return read
	}
	return read + ", " + prefix + "at"
}

// Fields returns the places to scan an entry into.
func (l Log[T]) Fields(entry *T) []any {
	fields := make([]any, 0, len(l.Columns)+4) // a prize's name, value and kind may follow
	for i := range l.Columns {
		fields = append(fields, l.Columns[i].field(entry))
	}
	if l.at == nil {
		return fields
	}
	return append(fields, &timestamp{to: l.at(entry)})
}

func (l Log[T]) join(text func(i int, c Column[T]) string) string {
	texts := make([]string, len(l.Columns))
	for i, c := range l.Columns {
		texts[i] = text(i, c)
	}
	return strings.Join(texts, ", ")
}

// ReadAwards returns the columns of awards AS a and prizes AS p for ScanAward. Only a
// damaged pool has awards without a prize. Such awards are returned too.
func ReadAwards(l Log[draw.Award]) string {
	return l.Read("a.") + `, COALESCE(p.name, ''), COALESCE(p.value, 0), COALESCE(p.kind, '') = 'blank'`
}

// AwardFields returns the places to scan an award with its prize into.
func AwardFields(l Log[draw.Award], a *draw.Award) []any {
	return append(l.Fields(a), &a.PrizeName, &a.Value, &a.Blank)
}

// ScanAward reads an award with its prize.
func ScanAward(l Log[draw.Award], row Scanner) (a draw.Award, err error) {
	err = row.Scan(AwardFields(l, &a)...)
	return a, err
}

// Statement is SQL with its arguments. Rows is the number of rows that it must change.
type Statement struct {
	SQL  string
	Args []any
	Rows int64
}

// List returns s n times, separated by commas.
func List(s string, n int) string {
	return strings.Join(slices.Repeat([]string{s}, n), ", ")
}
