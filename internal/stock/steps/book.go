package steps

import (
	"context"
	"database/sql"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Book stores the steps of a ledger's awards. It is safe for concurrent use.
type Book struct {
	ledger *ledger.Ledger
	codes  Codes
	// stepped is called with a kind of steps and the number of steps of that kind that
	// were written.
	stepped func(what draw.StepKind, n int)
	queue   *queue
}

// Codes moves the codes of prizes, in a pool whose row is locked.
type Codes interface {
	// ReplaceCode puts the last code of a prize's reserve at a place. The code that was
	// there moves to the place kept, so that it stays stored.
	ReplaceCode(ctx context.Context, tx *sql.Tx, poolID, prizeID string, place, kept int64) error
	// MoveCodesToEnd moves the codes at the given places after the last place of the
	// prize.
	MoveCodesToEnd(ctx context.Context, tx *sql.Tx, poolID, prizeID string, places []int64) error
}

// New returns the book of a ledger. stepped may be nil.
func New(l *ledger.Ledger, codes Codes, stepped func(what draw.StepKind, n int)) *Book {
	if stepped == nil {
		stepped = func(draw.StepKind, int) {}
	}
	return &Book{l, codes, stepped, newQueue(l.Log)}
}

// head is the row that numbers the steps of a pool.
type head struct {
	n, claimed, settled int64
	// last is the time of the last step.
	last time.Time
}

// lockHead locks the head of a pool until the transaction ends. It creates the head if it
// is absent.
func (b *Book) lockHead(ctx context.Context, tx *sql.Tx, poolID string) (h head, err error) {
	query := b.ledger.SelectFrom("step_heads", "n", "claimed", "settled").Where(squirrel.Eq{"pool_id": poolID}).Suffix(b.ledger.Engine.ForUpdate)
	found, err := ledger.SelectAll(ctx, tx, query, scanHead)
	if err != nil {
		return h, err
	}
	if len(found) == 0 {
		_, err := b.ledger.InsertInto("step_heads").Columns("pool_id").Values(poolID).RunWith(tx).ExecContext(ctx)
		if b.ledger.IsDuplicate(err) {
			err = engine.ErrConflict // another transaction created it first
		}
		return h, err
	}
	h = found[0]
	if h.n == 0 {
		return h, nil
	}
	last := b.ledger.SelectFrom("steps", "at").Where(squirrel.Eq{"pool_id": poolID, "n": h.n})
	_, err = ledger.SelectAll(ctx, tx, last, func(row engine.Scanner) (struct{}, error) { return struct{}{}, row.Scan(engine.ScanTime(&h.last)) })
	return h, err
}

func scanHead(row engine.Scanner) (h head, err error) {
	err = row.Scan(&h.n, &h.claimed, &h.settled)
	return h, err
}

// checkSchema returns an error if the database's schema has no steps. Error:
// CodeStoreUnavailable.
func (b *Book) checkSchema() error {
	if b.ledger.Engine.Lacks(engine.PartSteps) {
		return draw.Errorf(draw.CodeStoreUnavailable, "the database's schema has no place for steps of awards yet: run `drawsvc migrate up`")
	}
	return nil
}

// ForgetSteps removes the steps of a pool that is deleted.
func (b *Book) ForgetSteps(ctx context.Context, tx *sql.Tx, poolID string) error {
	if b.ledger.Engine.Lacks(engine.PartSteps) {
		return nil
	}
	for _, table := range []string{"steps", "step_heads"} {
		if _, err := b.ledger.Builder().Delete(table).Where(squirrel.Eq{"pool_id": poolID}).RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// EmptyTexts removes the references and the reasons from the steps of awards whose user
// is erased.
func (b *Book) EmptyTexts(ctx context.Context, tx *sql.Tx, poolID string, versions []int64) error {
	if b.ledger.Engine.Lacks(engine.PartSteps) {
		return nil
	}
	for part := range chunks(versions) {
		update := b.ledger.Builder().Update("steps").Set("reference", "").Set("reason", "").Where(squirrel.Eq{"pool_id": poolID, "award": part})
		if _, err := update.RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
	}
	return nil
}
