package sqlite

import (
	"encoding/json"
	"fmt"
	"strings"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/sqltx"
)

const (
	// insertRows is the number of awards in one INSERT with VALUES. The other awards of a
	// batch are passed as JSON, because one such statement inserts any number of awards.
	insertRows = 16

	// One statement for each prize. A join with a list of prizes is not faster. The
	// planner could choose to search the list for each prize of the pool.
	sqlRaise = `UPDATE prizes SET issued = issued + ?, changed = ? WHERE pool_id = ? AND id = ?`
)

// statements returns a small set of statements that serves batches of any size, so that
// each statement can be prepared once.
func statements(d *engine.Dialect, awards engine.Log[draw.Award]) sqltx.Words {
	values := make([]string, len(awards.Columns))
	for i := range values {
		values[i] = fmt.Sprint("value ->> ", i)
	}
	w := awardInserts{
		log: awards, rows: awards.Insert(insertRows),
		json: awards.InsertFrom(`SELECT ?, ?, ` + strings.Join(values, ", ") + ` FROM json_each(?)`),
	}
	return sqltx.Words{
		Awards: w.insert, Prizes: raisePrizes,
		Draws:    func(poolID string, ids []string) engine.Statement { return findDraws(awards, poolID, ids) },
		Prepared: []string{sqltx.SelectPool(d), sqltx.SelectPrizes, sqltx.MoveHead(d), sqlRaise, w.rows, w.json},
	}
}

// awardInserts inserts awards by values or by JSON.
type awardInserts struct {
	log        engine.Log[draw.Award]
	rows, json string
}

func (w awardInserts) insert(p *urn.Plan) (all []engine.Statement) {
	at := p.Awards[0].At.Format(engine.TimeText)
	rest := p.Awards
	for ; len(rest) >= insertRows; rest = rest[insertRows:] {
		all = append(all, engine.Statement{SQL: w.rows, Args: w.log.Args(p.PoolID, at, rest[:insertRows]), Rows: insertRows})
	}
	if len(rest) > 0 {
		all = append(all, engine.Statement{SQL: w.json, Args: []any{p.PoolID, at, jsonText(w.log.Rows(rest))}, Rows: int64(len(rest))})
	}
	return all
}

func raisePrizes(p *urn.Plan) []engine.Statement {
	statements := make([]engine.Statement, len(p.Raises))
	for i, c := range p.Raises {
		statements[i] = engine.Statement{SQL: sqlRaise, Args: []any{c.Issued, p.To.Version, p.PoolID, c.PrizeID}, Rows: 1}
	}
	return statements
}

// findDraws selects the draws by a list of names. In a join with such a list the planner,
// which has no statistics, would read the pool's whole log for each draw.
func findDraws(awards engine.Log[draw.Award], poolID string, ids []string) engine.Statement {
	return engine.Statement{
		SQL: `SELECT ` + engine.ReadAwards(awards) + ` FROM awards AS a ` + engine.AwardPrize + `
WHERE a.pool_id = ? AND a.draw_id IN (SELECT value FROM json_each(?))
ORDER BY a.draw_id, a.ordinal`,
		Args: []any{poolID, jsonText(ids)},
	}
}

// jsonText encodes numbers and strings that were checked on input; such values can
// always be encoded.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("sqlite: " + err.Error())
	}
	return string(text)
}
