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
		answer, err = wire.DrawLocked(ctx, tx, r)
		return err
	})
	return answer, err
}
