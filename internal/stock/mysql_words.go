package stock

import (
	"strings"

	"drawsvc/internal/draw"
)

// mysqlRowsMax is the most rows of one INSERT or UPDATE, so that a statement
// stays far below max_allowed_packet.
const mysqlRowsMax = 1000

func mysqlWords() words {
	return words{awards: mysqlAwards, prizes: mysqlPrizes, draws: mysqlDraws}
}

// mysqlAwards inserts with lists of values: both servers take them, and they
// measured faster than JSON_TABLE.
func mysqlAwards(p *draw.Plan) []statement {
	var statements []statement
	for rest := p.Awards; len(rest) > 0; {
		n := min(len(rest), mysqlRowsMax)
		args := make([]any, 0, 8*n)
		for i := range rest[:n] {
			a := &rest[i]
			args = append(args, p.PoolID, a.Version, a.DrawID, a.Ordinal, a.UserID, a.PrizeID, a.Unit, a.At)
		}
		statements = append(statements, statement{
			sql: `INSERT INTO awards (pool_id, version, draw_id, ordinal, user_id, prize_id, unit, at) VALUES ` +
				list("(?, ?, ?, ?, ?, ?, ?, ?)", n),
			args: args,
			rows: int64(n),
		})
		rest = rest[n:]
	}
	return statements
}

func mysqlPrizes(p *draw.Plan) []statement {
	var statements []statement
	to := p.To.Version
	for rest := p.Changes; len(rest) > 0; {
		n := min(len(rest), mysqlRowsMax)
		args := make([]any, 0, 3*n+2)
		for _, c := range rest[:n] {
			args = append(args, c.PrizeID, c.Issued)
		}
		args = append(args, to, p.PoolID)
		for _, c := range rest[:n] {
			args = append(args, c.PrizeID)
		}
		statements = append(statements, statement{
			sql: `UPDATE prizes SET issued = issued + CASE id` + strings.Repeat(" WHEN ? THEN ?", n) +
				` END, changed = ? WHERE pool_id = ? AND id IN (` + list("?", n) + `)`,
			args: args,
			rows: int64(n),
		})
		rest = rest[n:]
	}
	return statements
}

func mysqlDraws(poolID string, ids []string) statement {
	args := []any{poolID}
	for _, id := range ids {
		args = append(args, id)
	}
	return statement{
		sql: `SELECT ` + awardColumns + ` FROM awards AS a ` + awardPrize + `
WHERE a.pool_id = ? AND a.draw_id IN (` + list("?", len(ids)) + `) ORDER BY a.draw_id, a.ordinal`,
		args: args,
	}
}

// list is n times s, with commas between.
func list(s string, n int) string {
	return strings.TrimSuffix(strings.Repeat(s+", ", n), ", ")
}
