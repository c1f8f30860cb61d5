// Command for-update locks the pool's row with SELECT … FOR UPDATE, chooses,
// writes and commits: one transaction per draw, as most articles end.
//
// RIGHT in what it issues. Its price is speed: every draw waits for the commit
// of the one before, so a hot pool runs at the pace of one flush after another.
package main

import (
	"context"

	"drawsvc/loadtest/textbook/wire"
)

func main() { wire.Main(draw) }

func draw(ctx context.Context, db *wire.Postgres, r wire.Request) (wire.Answer, error) {
	return db.Draw(ctx, r, wire.DrawLocked)
}
