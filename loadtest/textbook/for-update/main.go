// Command for-update locks the pool's row with SELECT … FOR UPDATE, chooses, writes and
// commits: one transaction per draw, like the last example in most articles.
//
// RIGHT in what it issues. Its price is speed: every draw waits for the previous
// commit, so a hot pool draws no faster than the disk can flush one commit after
// another.
package main

import (
	"context"

	"drawsvc/loadtest/textbook/wire"
)

func main() { wire.Main(draw) }

func draw(ctx context.Context, db *wire.Postgres, r wire.Request) (wire.Answer, error) {
	return db.Draw(ctx, r, wire.DrawLocked)
}
