package draw

// Signer signs the receipts of a committed pool's draws.
type Signer interface {
	// Sign returns the receipts, as JSON, of draws that one transaction has made, by the
	// awards of each, in order of their versions. rules are those that the draws were
	// made under, nil for none.
	Sign(draws [][]Award, rules *Rules) ([][]byte, error)
}

// HasReceiptToSign reports whether the draw was just made and gets a receipt, which is
// not signed yet. The receipt of a replay is signed by itself.
func (d *Draw) HasReceiptToSign() bool { return d.Signer != nil && d.Signed == nil && !d.Replayed }

// SignReceipts signs the receipts of draws that one plan has made, in order of their
// versions. It must not be called before the plan is written: a receipt of awards that
// were undone would convict the log.
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

// SignReceipt returns the receipt of the draw, signed by itself unless it was signed
// with its batch. The draw must have a Signer.
func (d *Draw) SignReceipt() ([]byte, error) {
	if d.Signed != nil {
		return d.Signed, nil
	}
	signed, err := d.Signer.Sign([][]Award{d.Awards}, d.Rules)
	if err != nil {
		return nil, err
	}
	return signed[0], nil
}

// ErrorNoReceipt says that the numbers of a pool are secret, so that its draws
// have no receipts.
func ErrorNoReceipt(poolID string) error {
	return Errorf(CodeInvalidRequest, "receipt must be false: the numbers of pool %q are secret, so its draws have no receipts", poolID)
}
