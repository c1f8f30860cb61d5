// Command broken-limit allows each user to draw three times: it counts the user's
// awards, then locks the pool's row and draws, as shops do to limit a coupon.
//
// WRONG: it counts before it holds the lock. Requests of one user at the same moment
// all count before any of them has inserted, so all of them pass. The stock is right,
// because the lock protects it. The program exists so that the load test of limits has
// something to find.
package main

import (
	"context"

	"drawsvc/loadtest/textbook/wire"
)

// drawsMax is how often a user may draw.
const drawsMax = 3

func main() { wire.Main(draw) }

func draw(ctx context.Context, db *wire.Postgres, r wire.Request) (wire.Answer, error) {
	var drawn int
	err := db.QueryRow(ctx, `SELECT COUNT(*) FROM awards WHERE pool_id = $1 AND user_id = $2`, r.Pool, r.User).Scan(&drawn)
	if err != nil {
		return wire.Answer{}, err
	}
	if drawn+r.Count > drawsMax {
		return wire.Answer{}, wire.ErrLimitReached
	}
	return db.Draw(ctx, r, wire.DrawLocked)
}
