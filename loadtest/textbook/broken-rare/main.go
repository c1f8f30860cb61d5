// Command broken-rare guards each prize with its own version, and picks a second time
// when another draw was faster.
//
// WRONG: the totals are right and no unit is ever issued twice, but the odds are wrong.
// A common prize changes all the time, so a draw that picked it is often rejected and
// picks again; a draw that picked a rare prize is hardly ever rejected. Rare prizes
// therefore win too often while draws conflict. A key that is sent twice at the same
// moment may draw twice.
package main

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"drawsvc/loadtest/textbook/wire"
)

const triesMax = 50

func main() { wire.Main(draw) }

func draw(ctx context.Context, db *wire.Postgres, r wire.Request) (wire.Answer, error) {
	return db.DrawAgain(ctx, r, triesMax, try)
}

// versions reads the version of each prize together with its counts.
func versions(ctx context.Context, tx pgx.Tx, pool string) ([]wire.Prize, map[string]int64, error) {
	rows, _ := tx.Query(ctx, `SELECT id, stocked, issued, version FROM prizes WHERE pool_id = $1 ORDER BY id`, pool)
	var prizes []wire.Prize
	seen := make(map[string]int64)
	var p wire.Prize
	var version int64
	_, err := pgx.ForEachRow(rows, []any{&p.ID, &p.Stocked, &p.Issued, &version}, func() error {
		prizes = append(prizes, p)
		seen[p.ID] = version
		return nil
	})
	if err == nil && len(prizes) == 0 {
		err = wire.ErrNotFound
	}
	return prizes, seen, err
}

func try(ctx context.Context, tx pgx.Tx, r wire.Request) (answer wire.Answer, err error) {
	if known, err := wire.Known(ctx, tx, r); err != nil || len(known) > 0 {
		return wire.Answer{Awards: known, Replayed: true}, err
	}
	prizes, seen, err := versions(ctx, tx, r.Pool)
	if err != nil {
		return answer, err
	}
	picks := make([]string, r.Count)
	for i := range picks {
		chosen, err := wire.Pick(prizes)
		if err != nil {
			return answer, err
		}
		prizes[chosen].Issued++
		picks[i] = prizes[chosen].ID
	}
	slices.Sort(picks) // the same order for all: otherwise two draws of ten units deadlock
	for i, prize := range picks {
		var unit int64
		// The fault is that the version belongs to the prize.
		err := tx.QueryRow(ctx, `UPDATE prizes SET issued = issued + 1, version = version + 1
			WHERE pool_id = $1 AND id = $2 AND version = $3 RETURNING issued`, r.Pool, prize, seen[prize]).Scan(&unit)
		if errors.Is(err, pgx.ErrNoRows) {
			return answer, wire.ErrConflict
		}
		if err != nil {
			return answer, wire.Busy(err)
		}
		seen[prize]++
		award, err := wire.Record(ctx, tx, r, i+1, prize, unit)
		if err != nil {
			return answer, err
		}
		answer.Awards = append(answer.Awards, award)
	}
	return answer, nil
}
