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

	"drawsvc/loadtest/textbook/wire"
)

func main() { wire.Main(draw) }

func draw(ctx context.Context, db *wire.Postgres, r wire.Request) (wire.Answer, error) {
	return db.Draw(ctx, r, wire.ReadAndWrite)
}
