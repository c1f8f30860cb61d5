package engine

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
)

// TxOptions are the options for an attempt at a batch.
type TxOptions struct {
	// Lock locks the pool's row, by FOR UPDATE, until the end of the attempt. The lock
	// begins with the read, or with the write of a plan that was made without a read.
	Lock bool
	// Fence, if it names a lock, is checked by read and write.
	Fence Fence
}

// Attempts makes attempts at batches, in the form that suits the database.
type Attempts interface {
	// Read, Resume and Write implement the methods of stock.Store with these names.
	Read(ctx context.Context, urn *urn.Urn, o TxOptions) (Tx, error)
	Resume(ctx context.Context, o TxOptions) (Tx, error)
	Write(ctx context.Context, p *urn.Plan, o TxOptions) error
}

// Fence is the fencing token of an external lock.
type Fence struct {
	// Lock is the name of the lock, "" for none. Tokens of different locks are not
	// compared.
	Lock string
	// Token grows with every holder of the lock. A token is stale, and rejected, if it is
	// lower than the last token of the same lock that wrote to the pool.
	Token int64
	// Reset accepts a stale token, for a lock that has lost its count and starts again
	// from a lower number.
	Reset bool
}

// TokenMax returns the highest token that a write with this fence may replace.
func (f Fence) TokenMax() int64 {
	if f.Reset {
		return math.MaxInt64
	}
	return f.Token
}

// Past reads a pool's history for an attempt.
type Past interface {
	// Draws finds the draws with the given ids in the pool's log, which it reads later
	// than the pool. Error: an *Error with its class. On a server that cannot be written
	// to, its class is ClassUnavailable, because another server may have rows that this
	// one lacks.
	Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error)
	// Turns reads the users' data that the rules need, as it is at the urn's head.
	// Without an error, the pool is still at that head (law 8). Errors: ErrConflict if
	// the pool is at a later head, or if an item of its agenda is due that was not due
	// when the urn was read; and those of Draws.
	Turns(ctx context.Context, urn *urn.Urn, needs []urn.Need) (*urn.Facts, error)
}

// Tx is one attempt to decide a batch, on a pool that was read. It ends with Write or
// Rollback.
type Tx interface {
	Past
	// Write is the guarded write (law 1): it commits the plan if the pool is open and
	// still at the head that the plan was made from. It moves the pool's head, raises the
	// issued counts of the prizes, and inserts the rows of awards, turns and redirects,
	// all or nothing. A plan without awards writes nothing: Write then only waits until
	// the draws that Draws has found are as safe as an acknowledged commit. Before the
	// call, the caller must look up the draws that the plan refuses and that were not
	// looked up yet (law 4). Errors: ErrConflict, ErrStaleToken, or an *Error with its
	// class.
	Write(ctx context.Context, p *urn.Plan) error
	// Rollback ends the attempt and gives the lock back. After Write it does
	// nothing.
	Rollback()
}

// SharedPool is a small batch that may share a transaction.
type SharedPool struct {
	// Urn is the urn of the batch's pool, which was read before.
	Urn *urn.Urn
	// Keys are the names that callers chose for the batch's draws.
	Keys []string
	// Cached means that the plan is made from the cached copy: ReadShared does not read
	// the pool, and leaves the urn unchanged.
	Cached bool
}

// SharedTx is one transaction for small batches of several pools, so that they share
// the round trips and the commit. It ends with Write or with Rollback.
type SharedTx interface {
	// Write writes the plans and commits. Each plan is written as by Tx.Write, or not at
	// all. written is false for a plan that was not written. Then its pool is at a later
	// version, another session holds its row, or its log holds a key of the batch. If
	// there is an error, nothing was written, unless its class is ClassUnknown.
	Write(ctx context.Context, plans []*urn.Plan) (written []bool, err error)
	// Rollback ends the transaction. After Write it does nothing.
	Rollback()
}

// Sharers begins shared transactions, in the form that suits the database.
type Sharers interface {
	// ReadShared implements stock.Store.ReadShared.
	ReadShared(ctx context.Context, all []SharedPool, o TxOptions) (SharedTx, []bool, error)
}

// Row is the data of a pool that an attempt reads.
type Row struct {
	state, mode   string
	version, mark int64
	trail         []byte
	fence         int64
	fencedBy      string
	at            time.Time
	// rules is the version of the change whose rules are in force.
	rules    int64
	spending urn.Spending
	// dueAt is the time of the earliest open item of the agenda, zero for none. due means
	// that this time has come.
	dueAt time.Time
	due   bool
	// committed is the version of the pool's commitment, 0 for none.
	committed int64
	// claimsFrom is the version of the first rules with claims, 0 for none.
	claimsFrom int64
	// momentsFrom and momentsTo are the first and last version of moments that may be
	// pending. Both are 0 for a pool that never had a moment.
	momentsFrom, momentsTo int64
	// moments are the pending moments, if hasReadMoments.
	moments        []urn.Moment
	hasReadMoments bool
	// opened is the version of the change that opened the pool with the beacon's current
	// round, 0 for none.
	opened int64
	// pause is the pause of a paused pool; see LacksPause.
	pause draw.Pause
	// writable means that the row comes from a server that can be written to.
	writable bool
}

// Fields returns the places to scan RowColumns into.
func (r *Row) Fields() []any {
	return []any{
		&r.state, &r.mode, &r.version, &r.mark, &r.trail, &r.fence, &r.fencedBy, ScanTime(&r.at), &r.rules, &r.spending.Cents, ScanTime(&r.spending.From),
		&r.committed, &r.opened, &r.claimsFrom, &r.momentsFrom, &r.momentsTo, ScanTime(&r.dueAt), &r.due, &r.writable,
	}
}

// RowColumns returns the columns of a Row.
func RowColumns(d *Dialect) string {
	return `state, COALESCE(mode, ''), version, mark, trail, fence, fenced_by, at, rules, spent, spent_from, committed, opened, claims_from, moments_from, moments_to, due_at, ` + d.IsDue() + `, ` + d.Writable
}

// IsDue returns an expression that is true if an item of a pool's agenda is due. If the
// dialect has no clock, the expression is false: see Row.Tell.
func (d *Dialect) IsDue() string {
	if d.Clock == "" {
		return `FALSE`
	}
	//double:late-ticker COALESCE(due_at => COALESCE(FALSE AND due_at
	return `COALESCE(due_at <= ` + d.Clock + `, FALSE)`
}

// Tell sets due if the item's time has come, for a database without a clock of its own.
func (r *Row) Tell(now time.Time) { r.due = !r.dueAt.IsZero() && !now.Before(r.dueAt) }

// ReadOnlyServer returns the error of a server that cannot be written to. Its data may
// be old: a refusal must not depend on it.
func ReadOnlyServer() *Error {
	return Unavailable(ReasonNotReady, errors.New("the server is a standby, or read-only"), true)
}

// ErrDropped means that the pool does not follow from the cached copy, and that the copy
// was dropped. The next attempt reads the whole pool, and has no copy to compare it with.
var ErrDropped = &Error{Class: ClassConflict, Reason: "history"}

// ErrTorn means that the pool's prizes were read at a later version than its row. Without
// a lock, another session may write between the two reads. The pool never had this
// mixture of earlier rules and later stock, so it is not a reason to refuse a draw. The
// next attempt reads again.
var ErrTorn = &Error{Class: ClassConflict, Reason: "torn"}

// Version returns the version of the pool.
func (r *Row) Version() int64 { return r.version }

// LacksRules returns the version of the change whose rules must be read before Merge, or
// 0 if the urn has the rules in force.
func (r *Row) LacksRules(urn *urn.Urn) int64 {
	if r.rules == rulesVersion(urn) {
		return 0
	}
	return r.rules
}

func rulesVersion(urn *urn.Urn) int64 {
	if rules := urn.Rules(); rules != nil {
		return rules.Version
	}
	return 0
}

// ReadRules reads the rules of a change from its body. If the body is unreadable, the
// result refuses every new draw, but draws whose key is known are still answered.
func ReadRules(version int64, body string) *draw.Rules {
	parsed, _ := rules.ReadOf(&draw.Change{Version: version, What: draw.WhatRules, Body: body})
	if parsed == nil {
		parsed = rules.Read(nil) // the pool's row names a change that sets no rules
	}
	parsed.Version = version
	return parsed
}

// LacksPause reports whether the change that paused the pool has to be read before
// Merge: the pool is paused, and its version differs from the urn's.
func (r *Row) LacksPause(urn *urn.Urn) bool {
	return r.state == string(draw.StatePaused) && (urn.State != draw.StatePaused || urn.Version != r.version || urn.Mark != r.mark)
}

// SelectPause reads the body of the change that set the pool's state at a version.
const SelectPause = `SELECT body FROM changes WHERE pool_id = ? AND what = 'state' AND version <= ? ORDER BY version DESC LIMIT 1`

// SetPause sets, for Merge, the body of the change that paused the pool, "" if unknown.
func (r *Row) SetPause(body string) { r.pause = draw.PauseOf(body) }

// LacksMoments reports whether the pending moments of the pool have to be read before
// Merge: the urn lacks them, or they may have changed since.
func (r *Row) LacksMoments(u *urn.Urn) bool {
	switch {
	case r.momentsTo == 0:
		return false
	case u.Version == 0:
		return true
	case u.Version == r.version && u.Mark == r.mark:
		return false
	}
	//double:own-moments u.HasMoments() || => u.HasMoments() && false ||
	return u.HasMoments() || r.momentsTo > u.Version
}

// SelectMoments reads the pending moments of a pool that became entries between two
// versions, in the order in which draws take them.
const SelectMoments = `SELECT item, done, body FROM agenda WHERE pool_id = ? AND what = 'moment' AND done BETWEEN ? AND ? AND taken = 0 ORDER BY done, item`

// Moments returns the first and the last version for [SelectMoments].
func (r *Row) Moments() (from, to int64) { return r.momentsFrom, r.version }

// AddMoment adds a moment that was read. It must be called in the moments' order.
func (r *Row) AddMoment(item, done int64, body string) {
	planned := draw.Item{Number: item, Kind: draw.ItemMoment}
	planned.ReadBody(body, nil)
	r.moments = append(r.moments, urn.Moment{Item: item, Done: done, PrizeID: planned.Stock.PrizeID})
}

// SetReadMoments records that all pending moments were added.
func (r *Row) SetReadMoments() { r.hasReadMoments = true }

// Clone returns a copy that shares nothing with the row.
func (r *Row) Clone() *Row {
	one := *r
	one.trail = slices.Clone(r.trail)
	return &one
}

// Merge updates the urn to the state that was read. It rejects a stale token and a server
// that cannot be written to. If the pool's state does not follow from the cached copy,
// the pool must be read again. rules are the rules of the change that LacksRules names,
// nil if it names none.
func (r *Row) Merge(u *urn.Urn, prizes []draw.Prize, rules *draw.Rules, o TxOptions) error {
	if !r.writable {
		return ReadOnlyServer()
	}
	if f := o.Fence; f.Lock != "" && r.fencedBy == f.Lock && r.fence > f.TokenMax() {
		return ErrStaleToken
	}
	head := draw.Head{Version: r.version, Mark: r.mark, Trail: draw.Trail(r.trail)}
	if rules == nil && r.rules != 0 {
		rules = u.Rules()
	}
	if r.state == string(draw.StatePaused) && !r.LacksPause(u) {
		r.pause = u.Pause()
	}
	if !u.Seen(urn.Snapshot{
		State: draw.State(r.state), Mode: r.mode, Head: head, At: r.at, Prizes: prizes, Rules: rules, Spending: r.spending, Committed: r.committed, Opened: r.opened,
		ClaimsFrom: r.claimsFrom, DueAt: r.dueAt, Due: r.due, Pause: r.pause, Moments: r.moments, HasReadMoments: r.hasReadMoments,
	}) {
		return ErrDropped
	}
	return nil
}

// Collect adds an award to the draw that it belongs to.
func Collect(draws map[string]draw.Draw, poolID string, a draw.Award) {
	d := draws[a.DrawID]
	d.ID, d.PoolID, d.UserID = a.DrawID, poolID, a.UserID
	d.Awards = append(d.Awards, a)
	draws[a.DrawID] = d
}

// prizeColumns are the columns that ScanPrize reads. A schema older than codes has no
// column for codes, and none of its prizes has codes.
const (
	prizeColumns       = `id, name, value, stocked, issued, kind, codes`
	prizeColumnsBefore = `id, name, value, stocked, issued, kind, FALSE`
)

// PrizeColumns are the columns that ScanPrize reads.
func (d *Dialect) PrizeColumns() string {
	if d.Lacks(PartCodes) {
		return prizeColumnsBefore
	}
	return prizeColumns
}

// WithCodes replaces the column of codes in a statement if the schema does not have the
// column.
func (d *Dialect) WithCodes(statement string) string {
	if d.Lacks(PartCodes) {
		return strings.NewReplacer(prizeColumns, prizeColumnsBefore, `prizes.codes`, `FALSE`).Replace(statement)
	}
	return statement
}

// WithColumns replaces the columns of claims and moments in a statement that reads
// [RowColumns], if the schema does not have them.
func (d *Dialect) WithColumns(statement string) string {
	if d.Lacks(PartSteps) {
		statement = strings.Replace(statement, `claims_from`, `0`, 1)
	}
	if d.Lacks(PartMoments) {
		statement = strings.Replace(statement, `moments_from, moments_to`, `0, 0`, 1)
	}
	return statement
}

// SelectPrizes begins a statement that is completed and passed to [Dialect.WithCodes].
const SelectPrizes = `SELECT ` + prizeColumns

// PrizeFields returns the places to scan the columns of a prize into.
func PrizeFields(p *draw.Prize) []any {
	return []any{&p.ID, &p.Name, &p.Value, &p.Stocked, &p.Issued, &p.Kind, &p.HasCodes}
}

// ScanPrize reads a prize.
func ScanPrize(row Scanner) (draw.Prize, error) {
	var p draw.Prize
	err := row.Scan(PrizeFields(&p)...)
	return p, err
}

// ScanPrizeAt is ScanPrize for a row with one more column at its end: the version of the
// pool at which the row was read.
func ScanPrizeAt(row Scanner, at *int64) (draw.Prize, error) {
	var p draw.Prize
	err := row.Scan(PrizeFieldsAt(&p, at)...)
	return p, err
}

// PrizeFieldsAt returns the places to scan into for ScanPrizeAt.
func PrizeFieldsAt(p *draw.Prize, at *int64) []any {
	return append(PrizeFields(p), at)
}

// Scanner is a row of a result, of pgx or of database/sql.
type Scanner interface{ Scan(dest ...any) error }
