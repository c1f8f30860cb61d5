package draw

// Overview is a pool with its counts, as those who watch many pools see it.
type Overview struct {
	// Pool has its prizes, unless there are more than were asked for.
	Pool
	// PrizeCount is the number of its prizes.
	PrizeCount int64
	// Stocked and Issued are summed over the prizes that are not endless.
	Stocked, Issued int64
	// Awards is the sum of what was issued, endless blanks too.
	Awards int64
}

// Remaining is the number of units that can still be drawn.
func (o *Overview) Remaining() int64 { return o.Stocked - o.Issued }

// AwardFilter says which awards of a pool are wanted; an empty member wants all.
type AwardFilter struct{ UserID, PrizeID, DrawID string }

// Check returns CodeInvalidRequest for what no award can have.
func (f *AwardFilter) Check() error {
	if f.UserID != "" {
		if err := CheckUser(f.UserID); err != nil {
			return err
		}
	}
	if f.PrizeID != "" {
		if err := CheckID("prize", f.PrizeID); err != nil {
			return err
		}
	}
	if f.DrawID != "" {
		return CheckKey(f.DrawID)
	}
	return nil
}
