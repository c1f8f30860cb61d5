package sqlite

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/sqltx"
)

const (
	// insertRows is the number of entries in one INSERT with VALUES. The other entries of
	// a batch are passed as JSON, because one such statement inserts any number of entries.
	insertRows = 16

	// One statement for each prize. A join with a list of prizes is not faster. The
	// planner could choose to search the list for each prize of the pool.
	sqlRaise = `UPDATE prizes SET issued = issued + ?, changed = ? WHERE pool_id = ? AND id = ?`
)

// statements returns a small set of statements that serves batches of any size, so that
// each statement can be prepared once.
func statements(d *engine.Dialect, awards engine.Log[draw.Award]) sqltx.Words {
	a, t := insertsOf(awards), insertsOf(engine.Turns())
	return sqltx.Words{
		Awards:   func(p *urn.Plan) []engine.Statement { return a.insert(p.PoolID, p.Awards[0].At, p.Awards) },
		Turns:    func(p *urn.Plan) []engine.Statement { return t.insert(p.PoolID, p.At, p.Turns) },
		Prizes:   raisePrizes,
		Draws:    func(poolID string, ids []string) engine.Statement { return findDraws(awards, poolID, ids) },
		Prepared: []string{sqltx.SelectPool(d), sqltx.SelectPrizes, sqltx.MoveHead(d), sqlRaise, a.rows, a.json, t.rows, t.json},
	}
}

// inserts inserts entries by values or by JSON.
type inserts[T any] struct {
	log        engine.Log[T]
	rows, json string
}

func insertsOf[T any](log engine.Log[T]) inserts[T] {
	values := make([]string, len(log.Columns))
	for i := range values {
		values[i] = fmt.Sprint("value ->> ", i)
	}
	return inserts[T]{
		log: log, rows: log.Insert(insertRows),
		json: log.InsertFrom(`SELECT ?, ?, ` + strings.Join(values, ", ") + ` FROM json_each(?)`),
	}
}

func (i inserts[T]) insert(poolID string, made time.Time, entries []T) (all []engine.Statement) {
	at := made.Format(engine.TimeText)
	rest := entries
	for ; len(rest) >= insertRows; rest = rest[insertRows:] {
		all = append(all, engine.Statement{SQL: i.rows, Args: i.log.Args(poolID, at, rest[:insertRows]), Rows: insertRows})
	}
	if len(rest) > 0 {
		all = append(all, engine.Statement{SQL: i.json, Args: []any{poolID, at, jsonText(i.log.Rows(rest))}, Rows: int64(len(rest))})
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
