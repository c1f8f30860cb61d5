// Command optimistic reads the pool's row version, chooses, and writes only if
// the version is still the same; three attempts, then it tells the caller to come
// again.
//
// RIGHT in what it issues. Its price: where draws meet, only one of them wins a
// round, so most of the work is thrown away and many callers are sent away busy
// while stock remains.
package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"drawsvc/loadtest/textbook/wire"
)

// triesMax is the usual three.
const triesMax = 3

var errConflict = errors.New("another draw was faster")

func main() {
	flags := wire.ParseFlags()
	db, err := wire.OpenPostgres(context.Background(), flags.Database)
	wire.Exit(err)
	wire.Exit(wire.Serve(flags.Listen, shop{db}.draw, db))
}

type shop struct{ db *wire.Postgres }

func (s shop) draw(ctx context.Context, r wire.Request) (wire.Answer, error) {
	for range triesMax {
		answer, err := s.try(ctx, r)
		if !errors.Is(err, errConflict) {
			return answer, err
		}
	}
	return wire.Answer{}, wire.ErrContended
}

func (s shop) try(ctx context.Context, r wire.Request) (answer wire.Answer, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		var version int64
		err := tx.QueryRow(ctx, `SELECT version FROM pools WHERE id = $1`, r.Pool).Scan(&version)
		if errors.Is(err, pgx.ErrNoRows) {
			return wire.ErrNotFound
		}
		if err != nil {
			return err
		}
		if known, err := wire.Known(ctx, tx, r); err != nil || len(known) > 0 {
			answer = wire.Answer{Awards: known, Replayed: true}
			return err
		}
		prizes, err := wire.Prizes(ctx, tx, r.Pool)
		if err != nil {
			return err
		}
		picks := make([]wire.Prize, r.Count)
		for i := range picks {
			chosen, err := wire.Pick(prizes)
			if err != nil {
				return err
			}
			prizes[chosen].Issued++
			picks[i] = prizes[chosen]
		}
		tag, err := tx.Exec(ctx, `UPDATE pools SET version = version + 1 WHERE id = $1 AND version = $2`, r.Pool, version)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errConflict
		}
		for i, prize := range picks {
			_, err := tx.Exec(ctx, `UPDATE prizes SET issued = issued + 1 WHERE pool_id = $1 AND id = $2`, r.Pool, prize.ID)
			if err != nil {
				return err
			}
			award, err := wire.Record(ctx, tx, r, i+1, prize.ID, prize.Issued)
			if err != nil {
				return err
			}
			answer.Awards = append(answer.Awards, award)
		}
		return nil
	})
	return answer, err
}
