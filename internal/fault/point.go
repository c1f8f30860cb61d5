package fault

// Point names a place on the path of a draw, of what comes after it, or of a run of a job.
type Point string

// The points, in the order in which a batch reaches them.
const (
	// BeforeWrite means that the batch is planned, and the lock, if any, is held.
	BeforeWrite Point = "before-write"
	// BeforeCommit means that the rows are written in an open transaction.
	BeforeCommit Point = "before-commit"
	// AfterCommit means that the batch is durable and nobody has been answered.
	AfterCommit Point = "after-commit"
	// DueBeforeCommit means that items of an agenda are carried out in an open
	// transaction.
	DueBeforeCommit Point = "due-before-commit"
	// DueAfterCommit means that carried-out items of an agenda are durable, and nobody has
	// been notified.
	DueAfterCommit Point = "due-after-commit"
	// BeforeCodes: draws are durable, and their codes are not looked up yet.
	BeforeCodes Point = "before-codes"
	// AfterCodesPart: a part of an import of codes is durable. BeforeCodesMove: all parts
	// are durable, but the list is not recorded and the stock is not moved.
	AfterCodesPart  Point = "after-codes-part"
	BeforeCodesMove Point = "before-codes-move"
	// StepsBeforeCommit: steps of awards are written in an open transaction, with the moves
	// of the units that return. StepsAfterCommit: they are durable, and nobody was answered.
	StepsBeforeCommit Point = "steps-before-commit"
	StepsAfterCommit  Point = "steps-after-commit"
	// BeforeCursor: a receiver has accepted a message, or a message is to begin, and the
	// hook's cursor does not show it yet. AfterCursor: the cursor shows it, and the next
	// message is not sent yet.
	BeforeCursor Point = "before-cursor"
	AfterCursor  Point = "after-cursor"
	// InRun means that a run of the audit or the statement has read, but not written.
	InRun Point = "in-run"
)
