package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/sqltx"
)

// rowsMax is the maximum number of rows of one INSERT or UPDATE, so that a statement
// stays far below max_allowed_packet.
const rowsMax = 1000

func statements(awards engine.Log[draw.Award]) sqltx.Words {
	return sqltx.Words{
		Awards: func(p *urn.Plan) []engine.Statement { return insertAll(awards, p.PoolID, p.Awards[0].At, p.Awards) },
		Turns:  func(p *urn.Plan) []engine.Statement { return insertAll(engine.Turns(), p.PoolID, p.At, p.Turns) },
		Prizes: raisePrizes,
		Draws:  func(poolID string, ids []string) engine.Statement { return findDraws(awards, poolID, ids) },
		Settle: settle,
	}
}

// settleRows is the number of rows that settle chooses from, so that concurrent calls
// seldom wait for each other.
const settleRows = 64

// settle writes a row that nobody reads. InnoDB shows a transaction to other sessions
// before its log is on the disk, and only then waits for the disk. A crash between these
// two steps reverts rows that others have already read. A commit that has written
// something waits until all of the log before it is on the disk.
func settle() engine.Statement {
	return engine.Statement{
		SQL:  `INSERT INTO lock_tokens (key_id, token) VALUES (?, 1) ON DUPLICATE KEY UPDATE token = token + 1`,
		Args: []any{fmt.Sprint("settle:", rand.N(settleRows))},
	}
}

// CommitBy returns the function that commits a change; byCode classifies its errors. A
// change that has written nothing settles the rows that it has read.
func CommitBy(byCode func(error) *engine.Error) func(*sql.Conn, *sql.Tx) error {
	return func(_ *sql.Conn, tx *sql.Tx) error {
		return sqltx.CommitSettled(context.Background(), tx, settle(), byCode) // the transaction has the change's context
	}
}

// insertAll inserts entries by lists of values. Both servers support these, and they
// were faster than JSON_TABLE in measurements.
func insertAll[T any](log engine.Log[T], poolID string, at time.Time, entries []T) (all []engine.Statement) {
	for part := range slices.Chunk(entries, rowsMax) {
		all = append(all, log.Append(poolID, at, part))
	}
	return all
}

func raisePrizes(p *urn.Plan) []engine.Statement {
	var statements []engine.Statement
	to := p.To.Version
	for rest := p.Raises; len(rest) > 0; {
		n := min(len(rest), rowsMax)
		args := make([]any, 0, 3*n+2)
		for _, c := range rest[:n] {
			args = append(args, c.PrizeID, c.Issued)
		}
		args = append(args, to, p.PoolID)
		for _, c := range rest[:n] {
			args = append(args, c.PrizeID)
		}
		statements = append(statements, engine.Statement{
			SQL: `UPDATE prizes SET issued = issued + CASE id` + strings.Repeat(" WHEN ? THEN ?", n) +
				` END, changed = ? WHERE pool_id = ? AND id IN (` + engine.List("?", n) + `)`,
			Args: args,
			Rows: int64(n),
		})
		rest = rest[n:]
	}
	return statements
}

func findDraws(awards engine.Log[draw.Award], poolID string, ids []string) engine.Statement {
	args := []any{poolID}
	for _, id := range ids {
		args = append(args, id)
	}
	return engine.Statement{
		SQL: `SELECT ` + engine.ReadAwards(awards) + ` FROM awards AS a ` + engine.AwardPrize + `
WHERE a.pool_id = ? AND a.draw_id IN (` + engine.List("?", len(ids)) + `) ORDER BY a.draw_id, a.ordinal`,
		Args: args,
	}
}
