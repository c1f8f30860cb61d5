package stock

import (
	"encoding/json"

	"drawsvc/internal/draw"
)

// sqliteWords pass lists as JSON, so that one prepared statement serves
// batches of every size.
func sqliteWords() words {
	return words{awards: sqliteAwards, prizes: sqlitePrizes, draws: sqliteDraws}
}

func sqliteAwards(p *draw.Plan) []statement {
	rows := make([][6]any, len(p.Awards))
	for i := range p.Awards {
		a := &p.Awards[i]
		rows[i] = [6]any{a.Version, a.DrawID, a.Ordinal, a.UserID, a.PrizeID, a.Unit}
	}
	return []statement{{
		sql: `INSERT INTO awards (pool_id, version, draw_id, ordinal, user_id, prize_id, unit, at)
SELECT ?, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, ? FROM json_each(?)`,
		args: []any{p.PoolID, p.Awards[0].At.Format(timeText), jsonText(rows)},
		rows: int64(len(rows)),
	}}
}

func sqlitePrizes(p *draw.Plan) []statement {
	rows := make([][2]any, len(p.Changes))
	for i, c := range p.Changes {
		rows[i] = [2]any{c.PrizeID, c.Issued}
	}
	return []statement{{
		// MATERIALIZED, so that each change looks its prize up. Left to itself,
		// the planner looks every prize of the pool up among the changes.
		sql: `WITH change AS MATERIALIZED (SELECT value ->> 0 AS id, value ->> 1 AS n FROM json_each(?))
UPDATE prizes SET issued = issued + change.n, changed = ?
FROM change WHERE prizes.pool_id = ? AND prizes.id = change.id`,
		args: []any{jsonText(rows), p.From + int64(len(p.Awards)), p.PoolID},
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
