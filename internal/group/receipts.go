package group

import "drawsvc/internal/draw"

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
