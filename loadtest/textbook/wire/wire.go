package wire

import (
	"context"
	"math/rand/v2"
	"time"
)

// Problem is an error for which the contract has a code. Its text is that code.
type Problem string

const (
	// ErrSoldOut means that the pool holds fewer units than requested.
	ErrSoldOut Problem = "sold-out"
	// ErrLimitReached means that the user has used up the limit.
	ErrLimitReached Problem = "limit-reached"
	// ErrContended means that the draw gave up waiting or trying; nothing happened.
	ErrContended Problem = "contended"
	// ErrPoolExists means that the pool already exists.
	ErrPoolExists Problem = "pool-exists"
	// ErrNotFound means that the pool or the prize does not exist.
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
	// Version is the place in the log; it rises, with gaps.
	Version int64
	At      time.Time
	Draw    string
	Ordinal int
	User    string
	Prize   string
	// Unit is the number of the unit by the program's own count of the prize's issued
	// units.
	Unit int64
}

// Answer is the won prize of a draw; Replayed means that it was already known.
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

// Book is all data of a pool; the logs are in order.
type Book struct {
	Prizes []Prize
	Awards []Award
	Moves  []Move
}

// Drawer decides one draw. Each program implements it.
type Drawer func(ctx context.Context, r Request) (Answer, error)

// Ledger stores the pools; everything except draws goes through it.
type Ledger interface {
	// Create creates a pool with its stock. Errors: ErrPoolExists.
	Create(ctx context.Context, pool string, prizes []Prize) error
	// Stock adds units to a prize. Errors: ErrNotFound.
	Stock(ctx context.Context, pool string, m Move) error
	// Read returns the pool's book. Errors: ErrNotFound.
	Read(ctx context.Context, pool string) (Book, error)
}

// Pick chooses one unit uniformly among all that remain and returns the index of its
// prize. Errors: ErrSoldOut.
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
