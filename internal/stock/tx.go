package stock

import (
	"context"
	"errors"
	"math"
	"time"

	"drawsvc/internal/draw"
)

// TxOptions say how an attempt at a batch is kept apart from others.
type TxOptions struct {
	// Lock holds the pool row FOR UPDATE to the end of the attempt: from the
	// read, or from the write of a plan that was made without one.
	Lock bool
	// Fence, when it names a lock, is checked by read and write.
	Fence Fence
}

// Fence is the fencing token of an external lock.
type Fence struct {
	// Lock names the lock, "" for none. Tokens of different locks are not
	// compared.
	Lock string
	// Token grows with every holder of the lock. A stale token, lower than the
	// last one of the same lock that wrote to the pool, is rejected.
	Token int64
	// Reset lets a stale token pass: the lock has lost its count and begins
	// again from below.
	Reset bool
}

// tokenMax is the highest token that a write with this fence may replace.
func (f Fence) tokenMax() int64 {
	if f.Reset {
		return math.MaxInt64
	}
	return f.Token
}

// Tx is one attempt at deciding a batch, on a pool that was read. It ends with
// Write or with Rollback.
type Tx interface {
	// Draws finds the draws among ids that the pool's log holds, as it is after
	// the read. Error: an *Error with its class; ClassUnavailable on a server
	// that cannot be written, because what it lacks may be elsewhere.
	Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error)
	// Write is the guarded write (law 1): it commits the plan if the pool is
	// open and still at the head that the plan was made from. The pool's head
	// moves on, the prizes' issued are raised and the award rows inserted, all
	// or nothing. A plan without awards writes nothing: Write then makes sure
	// that the draws that Draws has found are as safe as what is acknowledged.
	// Errors: ErrConflict, ErrStaleToken, or an *Error with its class.
	Write(ctx context.Context, p *draw.Plan) error
	// Rollback ends the attempt and gives the lock back. After Write it does
	// nothing.
	Rollback()
}

// poolRow is what an attempt reads of a pool.
type poolRow struct {
	state, mode   string
	version, mark int64
	trail         []byte
	fence         int64
	fencedBy      string
	// writable says that the server which was read could have been written.
	writable bool
}

// columns are where to scan what poolColumns reads.
func (r *poolRow) columns() []any {
	return []any{&r.state, &r.mode, &r.version, &r.mark, &r.trail, &r.fence, &r.fencedBy, &r.writable}
}

// poolColumns are what a poolRow holds, on a server that says by the
// expression writable whether it can be written.
func poolColumns(writable string) string {
	return `state, COALESCE(mode, ''), version, mark, trail, fence, fenced_by, ` + writable
}

// errReadOnlyServer: what a server says that cannot be written may be old; a
// refusal must not rest on it.
func errReadOnlyServer() *Error {
	return unavailable(reasonNotReady, errors.New("the server is a standby, or read-only"), true)
}

// seen brings the urn up to what was read. It rejects a stale token and a
// server that cannot be written. Where the pool does not follow from the
// cached copy, it is to be read again.
func seen(urn *draw.Urn, row poolRow, prizes []draw.Prize, o TxOptions) error {
	if !row.writable {
		return errReadOnlyServer()
	}
	if f := o.Fence; f.Lock != "" && row.fencedBy == f.Lock && row.fence > f.tokenMax() {
		return ErrStaleToken
	}
	head := draw.Head{Version: row.version, Mark: row.mark, Trail: draw.Trail(row.trail)}
	if !urn.Seen(draw.Snapshot{State: draw.State(row.state), Mode: row.mode, Head: head, Prizes: prizes}) {
		return &Error{Class: ClassConflict, Reason: "history"}
	}
	return nil
}

// collect adds an award to the draw that it belongs to.
func collect(draws map[string]draw.Draw, poolID string, a draw.Award) {
	d := draws[a.DrawID]
	d.ID, d.PoolID, d.UserID = a.DrawID, poolID, a.UserID
	d.Awards = append(d.Awards, a)
	draws[a.DrawID] = d
}

// prizeColumns are what scanPrize reads.
const prizeColumns = `id, name, value, stocked, issued`

func scanPrize(row scanner) (draw.Prize, error) {
	var p draw.Prize
	err := row.Scan(&p.ID, &p.Name, &p.Value, &p.Stocked, &p.Issued)
	return p, err
}

// scanner is a row of a result, of pgx or of database/sql.
type scanner interface{ Scan(dest ...any) error }

// rollbackTimeout bounds the end of a try that failed: the caller waits for
// it, and a connection that does not answer within it is closed.
const rollbackTimeout = time.Second
