package stock

import (
	"encoding/json"
	"fmt"
	"strings"

	"drawsvc/internal/draw"
)

const (
	// sqliteRows is how many awards one INSERT of values takes; the rest of a
	// batch goes as JSON, for which one statement serves every number.
	sqliteRows = 16

	// One prize at a time: a join of many with the table leaves it to the
	// planner which one is searched for each row of the other, and is no faster.
	sqliteRaise = `UPDATE prizes SET issued = issued + ?, changed = ? WHERE pool_id = ? AND id = ?`
)

// sqliteWords are few, whatever the size of a batch, so that each can be
// prepared once.
func sqliteWords(d *Dialect, awards Log[draw.Award]) words {
	values := make([]string, len(awards.Columns))
	for i := range values {
		values[i] = fmt.Sprint("value ->> ", i)
	}
	w := sqliteAwards{
		log: awards, rows: awards.Insert(sqliteRows),
		json: awards.InsertFrom(`SELECT ?, ?, ` + strings.Join(values, ", ") + ` FROM json_each(?)`),
	}
	return words{
		awards: w.insert, prizes: sqlitePrizes,
		draws: func(poolID string, ids []string) Statement { return sqliteDraws(awards, poolID, ids) },
		kept:  []string{sqlPool(d), sqlPrizes, sqlRaise + sqlGuard, sqliteRaise, w.rows, w.json},
	}
}

// sqliteAwards inserts awards by values or by JSON.
type sqliteAwards struct {
	log        Log[draw.Award]
	rows, json string
}

func (w sqliteAwards) insert(p *draw.Plan) (all []Statement) {
	at := p.Awards[0].At.Format(timeText)
	rest := p.Awards
	for ; len(rest) >= sqliteRows; rest = rest[sqliteRows:] {
		all = append(all, Statement{SQL: w.rows, Args: w.log.Args(p.PoolID, at, rest[:sqliteRows]), Rows: sqliteRows})
	}
	if len(rest) > 0 {
		all = append(all, Statement{SQL: w.json, Args: []any{p.PoolID, at, jsonText(w.log.Rows(rest))}, Rows: int64(len(rest))})
	}
	return all
}

func sqlitePrizes(p *draw.Plan) []Statement {
	statements := make([]Statement, len(p.Changes))
	for i, c := range p.Changes {
		statements[i] = Statement{SQL: sqliteRaise, Args: []any{c.Issued, p.To.Version, p.PoolID, c.PrizeID}, Rows: 1}
	}
	return statements
}

// sqliteDraws names the draws in a list: in a join with them the planner, who
// has no statistics, goes through the pool's whole log for each.
func sqliteDraws(awards Log[draw.Award], poolID string, ids []string) Statement {
	return Statement{
		SQL: `SELECT ` + ReadAwards(awards) + ` FROM awards AS a ` + awardPrize + `
WHERE a.pool_id = ? AND a.draw_id IN (SELECT value FROM json_each(?))
ORDER BY a.draw_id, a.ordinal`,
		Args: []any{poolID, jsonText(ids)},
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
