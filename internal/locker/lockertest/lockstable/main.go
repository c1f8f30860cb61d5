// Command lockstable writes what the lock suite measured into docs/locks.md.
//
//	DRAWSVC_LOCKS_OUT=/path/results.json go test -count=1 -timeout 20m ./internal/locker
//	go run ./internal/locker/lockertest/lockstable /path/results.json docs/locks.md
//
// The tables replace what stands between the lines <!-- locks:begin --> and
// <!-- locks:end -->. Every cell comes from the results; what they do not hold
// is said to be missing. Exit codes: 0 ok, 1 failure, 2 usage.
package main

import (
	"fmt"
	"os"

	"drawsvc/internal/page"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: lockstable RESULTS PAGE")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "lockstable:", err)
		os.Exit(1)
	}
}

func run(results, file string) error {
	in, err := os.Open(results)
	if err != nil {
		return err
	}
	defer in.Close()
	all, err := read(in)
	if err != nil {
		return fmt.Errorf("%s: %w", results, err)
	}
	return page.Fill(file, "locks", tables(all))
}
