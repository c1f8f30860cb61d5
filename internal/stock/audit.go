package stock

import (
	"context"
	"database/sql"
	"fmt"

	"drawsvc/internal/draw"
)

// Audit reads a pool's rows in one snapshot and reports every rule that they
// break. Errors: CodePoolNotFound, and those of the store.
func (s *Store) Audit(ctx context.Context, poolID string) (draw.Audit, error) {
	var a draw.Audit
	err := s.ofPool(ctx, poolID, func(tx *sql.Tx) error {
		a = draw.Audit{PoolID: poolID}
		if err := s.auditPrizes(ctx, tx, &a); err != nil {
			return err
		}
		return s.auditLog(ctx, tx, &a)
	})
	return a, err
}

func violate(a *draw.Audit, rule, format string, args ...any) {
	a.Violations = append(a.Violations, draw.Violation{Rule: rule, Detail: fmt.Sprintf(format, args...)})
}

// prizeSums are a prize's counters beside the sums of the logs.
type prizeSums struct {
	id                              string
	stocked, issued                 int64
	moved, awards, units, unitsLast int64
}

// auditPrizes compares each prize's counters with the two logs.
func (s *Store) auditPrizes(ctx context.Context, tx *sql.Tx, a *draw.Audit) error {
	const query = `SELECT p.id, p.stocked, p.issued, COALESCE(m.moved, 0), COALESCE(w.awards, 0), COALESCE(w.units, 0), COALESCE(w.unit_last, 0)
FROM prizes AS p
LEFT JOIN (SELECT prize_id, SUM(delta) AS moved FROM moves WHERE pool_id = ? GROUP BY prize_id) AS m ON m.prize_id = p.id
LEFT JOIN (SELECT prize_id, COUNT(*) AS awards, COUNT(DISTINCT unit) AS units, MAX(unit) AS unit_last
	FROM awards WHERE pool_id = ? GROUP BY prize_id) AS w ON w.prize_id = p.id
WHERE p.pool_id = ? ORDER BY p.added`
	all, err := queryAll(ctx, tx, func(row scanner) (p prizeSums, err error) {
		err = row.Scan(&p.id, &p.stocked, &p.issued, &p.moved, &p.awards, &p.units, &p.unitsLast)
		return p, err
	}, s.rebind(query), a.PoolID, a.PoolID, a.PoolID)
	for _, p := range all {
		over := max(p.awards, p.issued) - p.stocked
		a.Prizes = append(a.Prizes, draw.PrizeAudit{
			PrizeID: p.id, Stocked: p.stocked, Issued: p.issued, Awards: p.awards,
			Remaining: p.stocked - p.issued, OverIssued: max(0, over),
		})
		if over > 0 {
			violate(a, "over-issued", "prize %q has %d awards and %d issued, but %d stocked", p.id, p.awards, p.issued, p.stocked)
		}
		if p.awards != p.issued {
			violate(a, "issued-is-awards", "prize %q says %d issued, its awards are %d", p.id, p.issued, p.awards)
		}
		if p.moved != p.stocked {
			violate(a, "stocked-is-moves", "prize %q says %d stocked, its moves add up to %d", p.id, p.stocked, p.moved)
		}
		if p.units != p.awards || p.unitsLast != p.awards {
			violate(a, "units-count-up", "prize %q has %d awards with %d different units, the last is %d", p.id, p.awards, p.units, p.unitsLast)
		}
	}
	return err
}

// auditLog checks that awards and moves together number the pool's versions
// without gap or double, that each draw is whole, and that each award is of a
// prize of the pool.
func (s *Store) auditLog(ctx context.Context, tx *sql.Tx, a *draw.Audit) error {
	const query = `SELECT
	(SELECT version FROM pools WHERE id = ?),
	(SELECT COUNT(*) FROM awards WHERE pool_id = ?),
	(SELECT COUNT(*) FROM moves WHERE pool_id = ?),
	(SELECT COALESCE(MAX(version), 0) FROM awards WHERE pool_id = ?),
	(SELECT COALESCE(MAX(version), 0) FROM moves WHERE pool_id = ?),
	(SELECT COUNT(*) FROM awards AS a JOIN moves AS m ON m.pool_id = a.pool_id AND m.version = a.version WHERE a.pool_id = ?),
	(SELECT COUNT(*) FROM awards AS a WHERE a.pool_id = ? AND NOT EXISTS
		(SELECT 1 FROM prizes AS p WHERE p.pool_id = a.pool_id AND p.id = a.prize_id)),
	(SELECT COUNT(*) FROM (SELECT draw_id FROM awards WHERE pool_id = ? GROUP BY draw_id
		HAVING COUNT(DISTINCT user_id) > 1 OR MIN(ordinal) <> 1 OR MAX(ordinal) <> COUNT(*)) AS d)`
	var awards, moves, lastAward, lastMove, doubles, strays, broken int64
	err := tx.QueryRowContext(ctx, s.rebind(query), repeat(a.PoolID, 8)...).
		Scan(&a.Version, &awards, &moves, &lastAward, &lastMove, &doubles, &strays, &broken)
	if err != nil {
		return err
	}
	if doubles > 0 {
		violate(a, "version-double", "%d versions are both an award and a move", doubles)
	}
	if last := max(lastAward, lastMove); awards+moves != a.Version || last != a.Version {
		violate(a, "version-gap", "the pool is at version %d, but has %d awards and %d moves up to version %d", a.Version, awards, moves, last)
	}
	if strays > 0 {
		violate(a, "prize-unknown", "%d awards are of prizes that the pool does not have", strays)
	}
	if broken > 0 {
		violate(a, "draw-whole", "%d draws have awards of several users or lack an ordinal", broken)
	}
	return nil
}

func repeat(v any, n int) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// rebind writes a query's parameters as the dialect wants them. The queries
// are constants of this package.
func (s *Store) rebind(query string) string {
	text, err := s.dialect.placeholder.ReplacePlaceholders(query)
	if err != nil {
		panic("stock: " + err.Error())
	}
	return text
}
