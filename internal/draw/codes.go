package draw

// CodeImport is a request to import codes of a prize.
type CodeImport struct {
	PoolID, PrizeID string
	// Key, if not empty, makes the import happen once. An interrupted import continues
	// where it stopped.
	Key, Actor string
	// Reserve leaves the codes in the reserve, without stock. Skip ignores duplicates.
	Reserve, Skip bool
	// DryRun checks and counts everything, and writes nothing.
	DryRun bool
}

// Check returns CodeInvalidRequest unless the import is valid.
func (i *CodeImport) Check() error {
	if i.Key != "" {
		if err := CheckKey(i.Key); err != nil {
			return err
		}
	}
	return CheckActor(i.Actor)
}

// ImportedCodes is the result of an import of codes, or the expected result of a dry
// run.
type ImportedCodes struct {
	// Added and Skipped count the lines.
	Added, Skipped int64
	// Places and Stocked are the prize's counts afterwards, Version is the pool's
	// version.
	Places, Stocked, Version int64
	// Seal commits to the codes that were added, in their order; a dry run has none.
	Seal Seal
	// Replayed reports whether the import had already happened under the same key.
	Replayed bool
}

// CodeCounts are the counts of a prize's codes.
type CodeCounts struct {
	Places, Stocked, Issued int64
	// Keys counts the rows by the id of their seal key.
	Keys map[string]int64
}

// GivenCode is a code, with the award and the state of its unit.
type GivenCode struct {
	PrizeID string
	Place   int64
	// Version is the version of the award that gave the code, 0 for none. IsStocked
	// reports whether the code belongs to a unit.
	Version   int64
	IsStocked bool
	Code      string
}

// IsReplaced reports whether the award got another code instead of this one. Replaced
// codes are kept, at places below 1.
func (g *GivenCode) IsReplaced() bool { return g.Place < 1 }

// CodeMax is the maximum length of a code, in characters of ASCII.
const CodeMax = 256

// ReasonCodes is the reason of the moves that imports of codes make.
const ReasonCodes = "codes"
