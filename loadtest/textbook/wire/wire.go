package wire

import (
	"context"
	"math/rand/v2"
	"time"
)

// Problem is an error that the contract has a code for: the code itself.
type Problem string

const (
	// ErrSoldOut says that the pool holds fewer units than asked for.
	ErrSoldOut Problem = "sold-out"
	// ErrLimitReached says that the user has drawn as often as he may.
	ErrLimitReached Problem = "limit-reached"
	// ErrContended says that the draw gave up waiting or trying; nothing happened.
	ErrContended Problem = "contended"
	// ErrPoolExists says that the pool is there already.
	ErrPoolExists Problem = "pool-exists"
	// ErrNotFound says that the pool or the prize is not there.
	ErrNotFound Problem = "pool-not-found"
)

// Error implements error.
func (p Problem) Error() string { return string(p) }

// Request is one draw, named by Key.
type Request struct {
	Pool  string
	User  string
	Key   string
	Count int
}

// Award is one unit won.
type Award struct {
	// Version is the place in the log, growing, with gaps.
	Version int64
	At      time.Time
	Draw    string
	Ordinal int
	User    string
	Prize   string
	// Unit counts the prize's issued units as the program believes them.
	Unit int64
}

// Answer is what a draw won; Replayed says that it was known already.
type Answer struct {
	Awards   []Award
	Replayed bool
}

// Prize is a prize with the counters that the program keeps.
type Prize struct {
	ID      string
	Stocked int64
	Issued  int64
}

// Move is one change of stock.
type Move struct {
	Version int64
	At      time.Time
	Prize   string
	Delta   int64
	Reason  string
}

// Book is all that is known of a pool, the logs in order.
type Book struct {
	Prizes []Prize
	Awards []Award
	Moves  []Move
}

// Drawer decides one draw. It is the part that each program writes itself.
type Drawer func(ctx context.Context, r Request) (Answer, error)

// Ledger holds the pools around the draws.
type Ledger interface {
	// Create makes a pool with its stock, or ErrPoolExists.
	Create(ctx context.Context, pool string, prizes []Prize) error
	// Stock adds units to a prize, or ErrNotFound.
	Stock(ctx context.Context, pool string, m Move) error
	// Read returns the pool's book, or ErrNotFound.
	Read(ctx context.Context, pool string) (Book, error)
}

// Pick chooses one unit uniformly among all that remain and returns the index
// of its prize, or ErrSoldOut where nothing remains.
func Pick(prizes []Prize) (int, error) {
	var total int64
	for _, p := range prizes {
		total += max(p.Stocked-p.Issued, 0)
	}
	if total == 0 {
		return 0, ErrSoldOut
	}
	n := rand.Int64N(total)
	for i, p := range prizes {
		if left := max(p.Stocked-p.Issued, 0); n >= left {
			n -= left
			continue
		}
		return i, nil
	}
	return 0, ErrSoldOut
}
