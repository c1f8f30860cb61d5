// Command optimistic reads the pool's row version, chooses, and writes only if the
// version is still the same. After three attempts it answers that the pool is busy.
//
// RIGHT in what it issues. Its price: of conflicting draws only one succeeds in each
// round, so most of the work is wasted, and many callers are refused as busy although
// stock remains.
package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"drawsvc/loadtest/textbook/wire"
)

const triesMax = 3

func main() { wire.Main(draw) }

func draw(ctx context.Context, db *wire.Postgres, r wire.Request) (wire.Answer, error) {
	return db.DrawAgain(ctx, r, triesMax, try)
}

func try(ctx context.Context, tx pgx.Tx, r wire.Request) (answer wire.Answer, err error) {
	var version int64
	err = tx.QueryRow(ctx, `SELECT version FROM pools WHERE id = $1`, r.Pool).Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) {
		return answer, wire.ErrNotFound
	}
	if err != nil {
		return answer, err
	}
	if known, err := wire.Known(ctx, tx, r); err != nil || len(known) > 0 {
		return wire.Answer{Awards: known, Replayed: true}, err
	}
	prizes, err := wire.Prizes(ctx, tx, r.Pool)
	if err != nil {
		return answer, err
	}
	picks := make([]wire.Prize, r.Count)
	for i := range picks {
		chosen, err := wire.Pick(prizes)
		if err != nil {
			return answer, err
		}
		prizes[chosen].Issued++
		picks[i] = prizes[chosen]
	}
	tag, err := tx.Exec(ctx, `UPDATE pools SET version = version + 1 WHERE id = $1 AND version = $2`, r.Pool, version)
	if err != nil {
		return answer, err
	}
	if tag.RowsAffected() == 0 {
		return answer, wire.ErrConflict
	}
	for i, prize := range picks {
		_, err := tx.Exec(ctx, `UPDATE prizes SET issued = issued + 1 WHERE pool_id = $1 AND id = $2`, r.Pool, prize.ID)
		if err != nil {
			return answer, err
		}
		award, err := wire.Record(ctx, tx, r, i+1, prize.ID, prize.Issued)
		if err != nil {
			return answer, err
		}
		answer.Awards = append(answer.Awards, award)
	}
	return answer, nil
}
