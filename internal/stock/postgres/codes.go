package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock/engine"
)

// writtenCodes are the awards of a write that have codes. The units of a prize in a
// write are consecutive, so they are one range of places.
type writtenCodes struct {
	prizes      []string
	first, last []int64
	// awards holds the awards of each prize, in the order of their units.
	awards [][]*draw.Award
	place  map[string]int // of a prize in the lists
}

// codesOf returns the awards of a plan that have codes.
func codesOf(p *urn.Plan) *writtenCodes {
	c := &writtenCodes{}
	for i := range p.Awards {
		a := &p.Awards[i]
		if !a.HasCode {
			continue
		}
		at, known := c.place[a.PrizeID]
		if !known {
			if c.place == nil {
				c.place = map[string]int{}
			}
			at = len(c.prizes)
			c.place[a.PrizeID] = at
			c.prizes, c.first, c.last = append(c.prizes, a.PrizeID), append(c.first, a.Unit), append(c.last, a.Unit-1)
			c.awards = append(c.awards, nil)
		}
		if a.Unit == c.last[at]+1 { // HandOut reads the codes of other units
			c.last[at] = a.Unit
			c.awards[at] = append(c.awards[at], a)
		}
	}
	return c
}

func (c *writtenCodes) isEmpty() bool { return len(c.prizes) == 0 }

const (
	// codesLockWait and codesStatementMax bound the waits of a statement for codes on the
	// server. HandOut reads the codes after a failure, so there is no reason to wait long.
	codesLockWait     = 50 * time.Millisecond
	codesStatementMax = 500 * time.Millisecond
	// codesPrepareMax bounds the round trips in which the read of codes is prepared or
	// removed, for example if the server does not respond.
	codesPrepareMax = time.Second
)

// codesPrepared is the key under which a connection notes that it has prepared the read
// of codes.
const codesPrepared = "drawsvc-codes-prepared"

// readsCodes reports whether a write on this connection reads its codes. pgx prepares a
// statement that is new to the connection before it sends the pipeline: before BEGIN, and
// without limits. While another session excludes readers of the table, that would wait,
// and the write with it. So a write reads its codes only on a connection that has
// prepared the read.
func (tx *attempt) readsCodes(c *writtenCodes) bool {
	//double:prepares-in-write _, isPrepared := tx.conn.Conn().PgConn().CustomData()[codesPrepared] => isPrepared := true
	_, isPrepared := tx.conn.Conn().PgConn().CustomData()[codesPrepared]
	return isPrepared && !c.isEmpty()
}

// prepareCodes prepares the read of codes for later writes on this connection, after a
// write whose COMMIT was acknowledged. After an error the next such write tries again. The
// limits need a transaction, which Rollback ends.
func (tx *attempt) prepareCodes(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, codesPrepareMax)
	defer cancel()
	conn := tx.conn.Conn()
	tx.open = true
	_, err := conn.PgConn().Exec(ctx, sqlBegin+`; `+tx.codesLimits).ReadAll()
	if err == nil {
		_, err = conn.Prepare(ctx, sqlWrittenCodes, sqlWrittenCodes)
	}
	if err == nil {
		conn.PgConn().CustomData()[codesPrepared] = true
	}
}

// forgetCodes removes the prepared read of codes after an error of the read. The table may
// have changed, so the statement must be prepared again.
func (tx *attempt) forgetCodes(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, codesPrepareMax)
	defer cancel()
	delete(tx.conn.Conn().PgConn().CustomData(), codesPrepared)
	_ = tx.conn.Conn().Deallocate(ctx, sqlWrittenCodes) // an error means that the connection failed
}

// queueCodes adds the read of the codes to a pipeline, after its COMMIT: the server
// executes it only if the COMMIT has succeeded. The server sends the response to COMMIT
// at the end of the pipeline, so the whole batch waits for the read, and codesLimits
// bounds it. codesLimits also makes the planner use keys. So the plan that the session
// keeps finds codes by their key, even if it was made while the table was small.
func (tx *attempt) queueCodes(batch *pgx.Batch, p *urn.Plan, c *writtenCodes) {
	batch.Queue(tx.codesLimits)
	batch.Queue(sqlWrittenCodes, p.PoolID, c.prizes, c.first, c.last, p.To.Mark)
}

// read reads the response to queueCodes into the awards.
func (c *writtenCodes) read(results pgx.BatchResults) error {
	if _, err := results.Exec(); err != nil {
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	var prizeID, keyID engine.Word
	var number int64
	var sealed engine.Bytes
	_, err = pgx.ForEachRow(rows, []any{&prizeID, &number, &keyID, &sealed}, func() error {
		at := c.place[string(prizeID)]
		c.awards[at][number-c.first[at]].Sealed = &draw.SealedCode{KeyID: string(keyID), Bytes: slices.Clone(sealed)}
		return nil
	})
	return err
}

// end reads the codes after the response to COMMIT, and closes the results. Its error does
// not make the COMMIT doubtful: HandOut reads the codes that are not read here. But if the
// connection is lost before the end of the pipeline, the response to COMMIT is lost too,
// and the COMMIT is in doubt.
func (c *writtenCodes) end(results pgx.BatchResults) error {
	return errors.Join(c.read(results), results.Close())
}
