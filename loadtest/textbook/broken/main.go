// Command broken draws like the first example in many articles: it reads the stock,
// chooses, and writes the new count back, all in one transaction.
//
// WRONG: READ COMMITTED does not isolate two readers from each other. Two draws that
// read the same count write the same count back, so one of the two units is issued
// twice: the pool over-issues under concurrency, and a key that is sent twice at the
// same moment draws twice. The program exists so that the load test has something to
// find.
package main

import (
	"context"

	"drawsvc/loadtest/textbook/wire"
)

func main() { wire.Main(draw) }

func draw(ctx context.Context, db *wire.Postgres, r wire.Request) (wire.Answer, error) {
	return db.Draw(ctx, r, wire.ReadAndWrite)
}
