package stock

import (
	"slices"
	"strings"

	"drawsvc/internal/draw"
)

// mysqlRowsMax is the most rows of one INSERT or UPDATE, so that a statement
// stays far below max_allowed_packet.
const mysqlRowsMax = 1000

func mysqlWords(awards Log[draw.Award]) words {
	return words{
		awards: func(p *draw.Plan) []Statement { return mysqlAwards(awards, p) },
		prizes: mysqlPrizes,
		draws:  func(poolID string, ids []string) Statement { return mysqlDraws(awards, poolID, ids) },
	}
}

// mysqlAwards inserts with lists of values: both servers take them, and they
// measured faster than JSON_TABLE.
func mysqlAwards(awards Log[draw.Award], p *draw.Plan) (all []Statement) {
	for part := range slices.Chunk(p.Awards, mysqlRowsMax) {
		all = append(all, awards.Append(p.PoolID, p.Awards[0].At, part))
	}
	return all
}

func mysqlPrizes(p *draw.Plan) []Statement {
	var statements []Statement
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
		statements = append(statements, Statement{
			SQL: `UPDATE prizes SET issued = issued + CASE id` + strings.Repeat(" WHEN ? THEN ?", n) +
				` END, changed = ? WHERE pool_id = ? AND id IN (` + List("?", n) + `)`,
			Args: args,
			Rows: int64(n),
		})
		rest = rest[n:]
	}
	return statements
}

func mysqlDraws(awards Log[draw.Award], poolID string, ids []string) Statement {
	args := []any{poolID}
	for _, id := range ids {
		args = append(args, id)
	}
	return Statement{
		SQL: `SELECT ` + ReadAwards(awards) + ` FROM awards AS a ` + awardPrize + `
WHERE a.pool_id = ? AND a.draw_id IN (` + List("?", len(ids)) + `) ORDER BY a.draw_id, a.ordinal`,
		Args: args,
	}
}
