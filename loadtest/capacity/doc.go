// Command capacity measures the size of awards. It draws from one pool of a throwaway
// server, over HTTP. It prints the bytes by which the database grew, and the bytes that
// it wrote to its log. The figures are scaled to a million awards, as in
// docs/capacity.md.
//
//	go run ./loadtest/capacity                       # every database, some 10 minutes
//	go run ./loadtest/capacity --awards 20000 --only postgres
//	go run ./loadtest/capacity doc                   # fills the pages from the published results
//
// The figures are bytes, so they depend little on the speed of the machine. Run it at
// the root of the repository.
package main
