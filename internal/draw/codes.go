package draw

// CodeImport is a wanted import of the codes of a prize.
type CodeImport struct {
	PoolID, PrizeID string
	// Key, when not empty, makes the import happen once. One that was cut off goes on
	// where it stopped.
	Key, Actor string
	// Reserve leaves the codes in the reserve, without stock. Skip passes over duplicates.
	Reserve, Skip bool
	// DryRun has everything checked and counted, and nothing written.
	DryRun bool
}

// Check reports whether the import can be asked for: nil or CodeInvalidRequest.
func (i *CodeImport) Check() error {
	if i.Key != "" {
		if err := CheckKey(i.Key); err != nil {
			return err
		}
	}
	return CheckActor(i.Actor)
}

// ImportedCodes is what an import of codes did, or would do.
type ImportedCodes struct {
	// Added and Skipped count the lines.
	Added, Skipped int64
	// Places and Stocked are those of the prize afterwards, Version the pool's.
	Places, Stocked, Version int64
	// Seal is of the codes that were added, in their order; a dry run has none.
	Seal Seal
	// Replayed reports whether the import had happened already under the same key.
	Replayed bool
}

// CodeCounts are the counts of a prize's codes.
type CodeCounts struct {
	Places, Stocked, Issued int64
	// Keys are the rows by the id of their seal key.
	Keys map[string]int64
}

// GivenCode is a code with what became of its unit.
type GivenCode struct {
	PrizeID string
	Place   int64
	// Version is the one of the award that gave it, 0 for none; IsStocked reports whether
	// a unit has it.
	Version   int64
	IsStocked bool
	Code      string
}

// CodeMax is the maximum length of a code, in characters of ASCII.
const CodeMax = 256

// ReasonCodes is the reason of the moves that imports of codes make.
const ReasonCodes = "codes"
