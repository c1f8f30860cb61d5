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

	// MATERIALIZED, so that each change looks its prize up. Left to itself, the
	// planner looks every prize of the pool up among the changes.
	sqliteRaise = `WITH change AS MATERIALIZED (SELECT value ->> 0 AS id, value ->> 1 AS n FROM json_each(?))
UPDATE prizes SET issued = issued + change.n, changed = ?
FROM change WHERE prizes.pool_id = ? AND prizes.id = change.id`
)

// sqliteWords are few, whatever the size of a batch, so that each can be
// prepared once.
func sqliteWords(d *dialect) words {
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
	rows := make([][2]any, len(p.Changes))
	for i, c := range p.Changes {
		rows[i] = [2]any{c.PrizeID, c.Issued}
	}
	return []statement{{
		sql:  sqliteRaise,
		args: []any{jsonText(rows), p.To.Version, p.PoolID},
		rows: int64(len(rows)),
	}}
}

func sqliteDraws(poolID string, ids []string) statement {
	return statement{
		sql: `SELECT ` + awardColumns + ` FROM json_each(?) AS k
CROSS JOIN awards AS a ON a.pool_id = ? AND a.draw_id = k.value
JOIN prizes AS p ON p.pool_id = a.pool_id AND p.id = a.prize_id
ORDER BY a.draw_id, a.ordinal`,
		args: []any{jsonText(ids), poolID},
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
