package draw

import "github.com/shopspring/decimal"

// Import is a request to import a prize file into a pool.
type Import struct {
	PoolID string
	// Reason and Actor are recorded with every move of the import.
	Reason, Actor string
	// Key, if not empty, makes the import happen once: a second import with the same
	// key returns the first result.
	Key string
	// PresentOnly refuses files with prizes that the pool does not have.
	PresentOnly bool
	// DryRun checks and counts everything, and writes nothing.
	DryRun bool
}

// Check returns CodeInvalidRequest unless the import is valid.
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

// Imported is the result of an import, or the expected result of a dry run.
type Imported struct {
	// Added and Restocked are the numbers of new prizes and of existing ones that got
	// more stock.
	Added, Restocked int
	// Units is the added stock of all prizes together.
	Units int64
	// Version is the pool's version after the import.
	Version int64
	// Encoding is the file's encoding.
	Encoding Encoding
	// Value is the value of the added units, and StockValue is the value of all remaining
	// units of the pool after the import. Only a dry run computes them.
	Value, StockValue decimal.Decimal
	// Preview lists the expected results of a dry run, in the order of the file, for at
	// most PreviewMax prizes.
	Preview []ImportedPrize
	// Replayed means that the import had already happened under the same key.
	Replayed bool
}

// PreviewMax is the maximum number of prizes that a dry run lists.
const PreviewMax = 1000

// ImportedPrize is the expected effect of an import on one prize.
type ImportedPrize struct {
	PrizeID string
	// Name and Value are those that the prize has or gets.
	Name  string
	Value decimal.Decimal
	IsNew bool
	// IsEndless means that Delta and Stocked belong to an endless blank.
	IsEndless bool
	// Delta is added to the prize's stock; Stocked is its stock afterwards.
	Delta, Stocked int64
}

// Encoding is how the text of a file is encoded.
type Encoding string

// The encodings that are read. Windows-1252 is only a guess, because it has a letter
// for almost every byte. The sender of such a file should check the names.
const (
	EncodingUTF8        Encoding = "utf-8"
	EncodingUTF16       Encoding = "utf-16"
	EncodingWindows1252 Encoding = "windows-1252"
)
