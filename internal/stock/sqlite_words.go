package stock

import (
	"encoding/json"

	"drawsvc/internal/draw"
)

const (
	// sqliteRows is how many awards one INSERT of values takes; the rest of a
	// batch goes as JSON, for which one statement serves every number.
	sqliteRows = 16

	sqliteInsert     = `INSERT INTO awards (pool_id, version, draw_id, ordinal, user_id, prize_id, unit, at) `
	sqliteInsertJSON = sqliteInsert +
		`SELECT ?, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, ? FROM json_each(?)`

	// One prize at a time: a join of many with the table leaves it to the
	// planner which one is searched for each row of the other, and is no faster.
	sqliteRaise = `UPDATE prizes SET issued = issued + ?, changed = ? WHERE pool_id = ? AND id = ?`
)

// sqliteWords are few, whatever the size of a batch, so that each can be
// prepared once.
func sqliteWords(d *Dialect) words {
	rows := sqliteInsert + `VALUES ` + list("(?, ?, ?, ?, ?, ?, ?, ?)", sqliteRows)
	return words{
		awards: func(p *draw.Plan) []statement { return sqliteAwards(p, rows) }, prizes: sqlitePrizes, draws: sqliteDraws,
		kept: []string{sqlPool(d), sqlPrizes, sqlRaise + sqlGuard, sqliteRaise, rows, sqliteInsertJSON},
	}
}

func sqliteAwards(p *draw.Plan, insertRows string) []statement {
	var statements []statement
	at := p.Awards[0].At.Format(timeText)
	rest := p.Awards
	for ; len(rest) >= sqliteRows; rest = rest[sqliteRows:] {
		args := make([]any, 0, 8*sqliteRows)
		for i := range rest[:sqliteRows] {
			a := &rest[i]
			args = append(args, p.PoolID, a.Version, a.DrawID, a.Ordinal, a.UserID, a.PrizeID, a.Unit, at)
		}
		statements = append(statements, statement{sql: insertRows, args: args, rows: sqliteRows})
	}
	if len(rest) == 0 {
		return statements
	}
	rows := make([][6]any, len(rest))
	for i := range rest {
		a := &rest[i]
		rows[i] = [6]any{a.Version, a.DrawID, a.Ordinal, a.UserID, a.PrizeID, a.Unit}
	}
	return append(statements, statement{sql: sqliteInsertJSON, args: []any{p.PoolID, at, jsonText(rows)}, rows: int64(len(rows))})
}

func sqlitePrizes(p *draw.Plan) []statement {
	statements := make([]statement, len(p.Changes))
	for i, c := range p.Changes {
		statements[i] = statement{sql: sqliteRaise, args: []any{c.Issued, p.To.Version, p.PoolID, c.PrizeID}, rows: 1}
	}
	return statements
}

// sqliteDraws names the draws in a list: in a join with them the planner, who
// has no statistics, goes through the pool's whole log for each.
func sqliteDraws(poolID string, ids []string) statement {
	return statement{
		sql: `SELECT ` + awardColumns + ` FROM awards AS a ` + awardPrize + `
WHERE a.pool_id = ? AND a.draw_id IN (SELECT value FROM json_each(?))
ORDER BY a.draw_id, a.ordinal`,
		args: []any{poolID, jsonText(ids)},
	}
}

// jsonText encodes numbers and strings that were checked when they came in;
// such values always encode.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("stock: " + err.Error())
	}
	return string(text)
}
