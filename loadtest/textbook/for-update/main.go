// Command for-update locks the pool's row with SELECT … FOR UPDATE, chooses,
// writes and commits: one transaction per draw, as most articles end.
//
// RIGHT in what it issues. Its price is speed: every draw waits for the commit
// of the one before, so a hot pool runs at the pace of one flush after another.
package main

import (
	"context"

	"github.com/jackc/pgx/v5"

	"drawsvc/loadtest/textbook/wire"
)

func main() {
	flags := wire.ParseFlags()
	db, err := wire.OpenPostgres(context.Background(), flags.Database)
	wire.Exit(err)
	wire.Exit(wire.Serve(flags.Listen, shop{db}.draw, db))
}

type shop struct{ db *wire.Postgres }

func (s shop) draw(ctx context.Context, r wire.Request) (answer wire.Answer, err error) {
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT 1 FROM pools WHERE id = $1 FOR UPDATE`, r.Pool); err != nil {
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
		for i := range r.Count {
			chosen, err := wire.Pick(prizes)
			if err != nil {
				return err
			}
			prize := &prizes[chosen]
			prize.Issued++
			_, err = tx.Exec(ctx, `UPDATE prizes SET issued = issued + 1 WHERE pool_id = $1 AND id = $2`, r.Pool, prize.ID)
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
