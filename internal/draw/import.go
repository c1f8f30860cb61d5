package draw

// Import is a wanted import of a prize file into a pool.
type Import struct {
	PoolID string
	// Reason and Actor are noted with every move of the import.
	Reason, Actor string
	// Key, when not empty, makes the import happen once: the same key again
	// is answered with the first result.
	Key string
	// PresentOnly refuses files with prizes that the pool does not have.
	PresentOnly bool
	// DryRun has everything checked and counted, and nothing written.
	DryRun bool
}

// Check reports whether i can be asked for: nil or CodeInvalidRequest.
func (i *Import) Check() error {
	if i.Key != "" {
		if err := CheckKey(i.Key); err != nil {
			return err
		}
	}
	if err := CheckReason(i.Reason); err != nil {
		return err
	}
	return CheckActor(i.Actor)
}

// Imported is what an import did, or would do.
type Imported struct {
	// Added and Restocked are the numbers of prizes that were new and of
	// those that were there and got more stock.
	Added, Restocked int
	// Units is the stock that was put in, of all prizes together.
	Units int64
	// Version is the pool's version after the import.
	Version int64
	// Preview lists what a dry run would do, in the order of the file, at most
	// PreviewMax prizes.
	Preview []ImportedPrize
	// Replayed says that the import had happened already under the same key.
	Replayed bool
}

// PreviewMax is the most prizes that a dry run lists.
const PreviewMax = 1000

// ImportedPrize is what an import would do to one prize.
type ImportedPrize struct {
	PrizeID string
	IsNew   bool
	// IsEndless says that Delta and Stocked are those of an endless blank.
	IsEndless bool
	// Delta is added to the prize's stock, Stocked is its stock afterwards.
	Delta, Stocked int64
}
