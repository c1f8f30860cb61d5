package draw

// Signer signs the receipts of a committed pool's draws.
type Signer interface {
	// Sign returns the receipts of the draws of one transaction. draws are the awards of
	// each draw, in order of their versions. rules are the rules that the draws were made
	// under, nil for none.
	Sign(draws [][]Award, rules *Rules) ([]Receipt, error)
}

// Receipt is a signed receipt. The request that sends it encodes it into its answer,
// because the encoded receipts of a batch would use much memory.
type Receipt interface {
	// AppendTo appends the receipt as JSON.
	AppendTo(b []byte) []byte
}

// EncodedReceipt is a receipt as JSON.
type EncodedReceipt []byte

// AppendTo implements Receipt.
func (r EncodedReceipt) AppendTo(b []byte) []byte { return append(b, r...) }

// HasReceiptToSign reports whether the draw is new and its receipt is not signed yet.
// The receipt of a replay is signed separately.
func (d *Draw) HasReceiptToSign() bool { return d.Signer != nil && d.Signed == nil && !d.Replayed }

// SignReceipts signs the receipts of draws of one plan, in order of their versions. It
// must not be called before the plan is written: a receipt of undone awards would be
// evidence against the log.
func SignReceipts(draws []*Draw) error {
	awards := make([][]Award, len(draws))
	for i, d := range draws {
		awards[i] = d.Awards
	}
	signed, err := draws[0].Signer.Sign(awards, draws[0].Rules)
	if err != nil {
		return err
	}
	for i, d := range draws {
		d.Signed = signed[i]
	}
	return nil
}

// SignReceipt returns the receipt of the draw. It signs the receipt separately unless
// it was signed with its batch. The draw must have a Signer.
func (d *Draw) SignReceipt() (Receipt, error) {
	if d.Signed != nil {
		return d.Signed, nil
	}
	signed, err := d.Signer.Sign([][]Award{d.Awards}, d.Rules)
	if err != nil {
		return nil, err
	}
	return signed[0], nil
}

// ErrorNoReceipt returns the error of a pool with secret numbers, whose draws have no
// receipts.
func ErrorNoReceipt(poolID string) error {
	return Errorf(CodeInvalidRequest, "receipt must be false: the numbers of pool %q are secret, so its draws have no receipts", poolID)
}
