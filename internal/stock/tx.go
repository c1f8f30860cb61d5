package stock

import (
	"context"
	"math"
	"time"

	"drawsvc/internal/draw"
)

// TxOptions say how a try is kept apart from others.
type TxOptions struct {
	// Lock holds the pool row FOR UPDATE from the read to the end of the try.
	Lock bool
	// Fence, when Lock is false and By is set, is the token of the external
	// lock By that the caller holds: Apply refuses it when the pool was
	// written with a later token of the same lock.
	Fence int64
	By    string
	// Anew lets Fence take the place of a higher one: the lock By has lost its
	// count of tokens and begins again from below.
	Anew bool
	// Remembered has Begin leave the urn as it is, without a look at the pool
	// or a lock on its row: Apply locks the row and finds out whether what was
	// remembered still held.
	Remembered bool
}

// fenceMax is the highest fence that the write may replace.
func (o TxOptions) fenceMax() int64 {
	if o.Anew {
		return math.MaxInt64
	}
	return o.Fence
}

// Tx is one try at deciding a batch. It ends with Apply or with Rollback.
type Tx interface {
	// Draws finds the draws among ids that the pool's log holds.
	Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error)
	// Apply writes the plan and commits: the pool's version is raised by the
	// number of awards if the pool is still open, in the urn's mode and at the
	// version planned from, the prizes' issued are raised and the award rows
	// inserted, all or nothing. A plan
	// without awards writes nothing: Apply then makes sure that the draws that
	// Draws has found are as safe as what is acknowledged. Errors: ErrConflict,
	// ErrStaleLock, or an *Error with its class.
	Apply(ctx context.Context, p *draw.Plan) error
	// Rollback ends the try and gives the lock back. After Apply it does
	// nothing.
	Rollback()
}

// poolRow is what a try reads of a pool.
type poolRow struct {
	state, mode string
	version     int64
	fence       int64
	fencedBy    string
	// history names the line of events that the row is of, "" where the
	// database has no name for it.
	history string
}

// fill brings the urn up to what was read. It refuses a lock that a later
// holder has outrun, and forgets an urn that is ahead of the pool or of another
// history: a restored backup, or a standby that had not all. There, a version
// that the urn knows may be another state, with other units gone.
func fill(urn *draw.Urn, row poolRow, prizes []draw.Prize, o TxOptions) error {
	if o.By != "" && row.fencedBy == o.By && row.fence > o.fenceMax() {
		return ErrStaleLock
	}
	if row.version < urn.Version || urn.History != "" && row.history != urn.History {
		urn.Reset()
		return &Error{Class: ClassConflict, Reason: "history"}
	}
	for _, p := range prizes {
		urn.Put(p)
	}
	if row.version == urn.Version {
		urn.Confirmed++
	} else {
		urn.Confirmed = 0
	}
	urn.State, urn.Mode, urn.Version, urn.History = draw.State(row.state), row.mode, row.version, row.history
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

// awardColumns are what scanAward reads, of awards AS a and prizes AS p.
const awardColumns = `a.version, a.draw_id, a.ordinal, a.user_id, a.prize_id, p.name, p.value, a.unit, a.at`

func scanAward(row scanner) (draw.Award, error) {
	var a draw.Award
	at := timestamp{&a.At}
	err := row.Scan(&a.Version, &a.DrawID, &a.Ordinal, &a.UserID, &a.PrizeID, &a.PrizeName, &a.Value, &a.Unit, &at)
	return a, err
}

// rollbackTimeout bounds the end of a try that failed: the caller waits for
// it, and a connection that does not answer within it is closed.
const rollbackTimeout = time.Second
