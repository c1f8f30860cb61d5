// Command broken-limit lets each user draw three times: it counts his awards,
// then locks the pool's row and draws, as shops limit a coupon.
//
// WRONG: it counts, then inserts. Requests of one user at the same moment all
// count before any of them has inserted, so all of them pass. The stock is
// right, because the lock keeps that. It is here so that the load test of
// limits has something to catch.
package main

import (
	"context"

	"github.com/jackc/pgx/v5"

	"drawsvc/loadtest/textbook/wire"
)

// drawsMax is how often a user may draw.
const drawsMax = 3

func main() {
	flags := wire.ParseFlags()
	db, err := wire.OpenPostgres(context.Background(), flags.Database)
	wire.Exit(err)
	wire.Exit(wire.Serve(flags.Listen, shop{db}.draw, db))
}

type shop struct{ db *wire.Postgres }

func (s shop) draw(ctx context.Context, r wire.Request) (answer wire.Answer, err error) {
	var drawn int
	err = s.db.QueryRow(ctx, `SELECT COUNT(*) FROM awards WHERE pool_id = $1 AND user_id = $2`, r.Pool, r.User).Scan(&drawn)
	if err != nil {
		return answer, err
	}
	if drawn+r.Count > drawsMax {
		return answer, wire.ErrLimitReached
	}
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		answer, err = wire.DrawLocked(ctx, tx, r)
		return err
	})
	return answer, err
}
