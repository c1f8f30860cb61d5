package group

import (
	"context"

	"drawsvc/internal/draw"
)

// Codes hands out the codes of awards that are committed.
type Codes interface {
	// HandOut takes draws of one pool. It fills in the codes of awards that have one. For
	// known draws, it also fills in the deadline by which awards must be claimed. Errors:
	// CodeSealKeyMissing, CodeRulesUnreadable, and those of the store. After an error,
	// some draws lack a code.
	HandOut(ctx context.Context, poolID string, draws []*draw.Draw) error
}

// HandOutBy sets the Codes that hands out codes. It is called once, before the first
// draw.
func (b *Batcher) HandOutBy(codes Codes) { b.codes = codes }

// withCodes returns the waiters whose answers need codes.
func withCodes(all []*waiter) (coded []*waiter) {
	for _, w := range all {
		if !w.hasAnswer() && w.err == nil && w.draw.AsksStore() {
			coded = append(coded, w)
		}
	}
	return coded
}

// handOut fills in the codes of answers that need some, by one lookup. It runs after
// the commit: if it fails, the draws have happened, and a retry with the key gives
// award and code.
func (b *Batcher) handOut(coded []*waiter) {
	if len(coded) == 0 {
		return
	}
	draws := make([]*draw.Draw, len(coded))
	for i, w := range coded {
		draws[i] = &w.draw
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.limits.Timeout)
	defer cancel()
	var err error
	if b.codes == nil {
		err = draw.ErrorSealKeyMissing(draws[0].PoolID)
	} else {
		err = b.codes.HandOut(ctx, draws[0].PoolID, draws)
	}
	if err == nil {
		return
	}
	for _, w := range coded {
		if w.draw.AsksStore() {
			w.err = w.withoutCode(err)
		}
	}
}

// withoutCode is the error of a draw that is committed, but whose code is unavailable.
// For a known draw it is the error of a missing seal key. For a new draw it states that
// the draw may have happened.
func (w *waiter) withoutCode(err error) error {
	if w.draw.Replayed && draw.CodeOf(err) == draw.CodeSealKeyMissing {
		missing := draw.Errorf(draw.CodeSealKeyMissing, "%s", draw.DetailOf(err))
		missing.Err, missing.KeyUnasked = err, true
		return missing
	}
	return w.inDoubt(err)
}

// receiptsTogetherMin is the minimum number of receipts that a batch signs together. A
// single receipt is signed by the goroutine of its request.
const receiptsTogetherMin = 2

// withReceipts returns the new draws of the waiters whose receipts must be signed, in
// order of their versions.
func withReceipts(all []*waiter) (made []*draw.Draw) {
	for _, w := range all {
		if w.draw.HasReceiptToSign() {
			made = append(made, &w.draw)
		}
	}
	return made
}

// signReceipts signs the receipts of a batch that is written. If that fails, each request
// signs its own receipt, or reports why it cannot. A draw that was made is never refused.
func signReceipts(made []*draw.Draw) {
	defer func() { _ = recover() }()
	_ = draw.SignReceipts(made)
}
