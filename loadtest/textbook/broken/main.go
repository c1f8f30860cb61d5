// Command broken draws as many articles begin: read the stock, choose, write
// the new count back, all in one transaction.
//
// WRONG: a transaction at READ COMMITTED does not keep two readers apart. Two
// draws that read the same count write the same count back, so one of the two
// units is handed out twice: the pool over-issues under concurrency, and a key
// sent twice at the same moment draws twice. It is here so that the load test
// has something to catch.
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
			// The count that was read, plus one, whatever happened since.
			_, err = tx.Exec(ctx, `UPDATE prizes SET issued = $3 WHERE pool_id = $1 AND id = $2`, r.Pool, prize.ID, prize.Issued)
			if err != nil {
				return wire.Busy(err)
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
