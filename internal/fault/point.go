package fault

// Point names a place in the way of a draw, or of a run of a job.
type Point string

// The points, in the order in which a batch comes to them.
const (
	// BeforeWrite: the batch is planned, and the lock, if any, is held.
	BeforeWrite Point = "before-write"
	// BeforeCommit: the rows are written in a transaction that is open.
	BeforeCommit Point = "before-commit"
	// AfterCommit: the batch is durable and nobody has been answered.
	AfterCommit Point = "after-commit"
	// DueBeforeCommit: items of an agenda are done in a transaction that is open.
	DueBeforeCommit Point = "due-before-commit"
	// DueAfterCommit: items of an agenda are done, and nobody knows it yet.
	DueAfterCommit Point = "due-after-commit"
	// BeforeCodes: draws are durable, and their codes are not looked up yet.
	BeforeCodes Point = "before-codes"
	// AfterCodesPart: a part of an import of codes is durable. BeforeCodesMove: all are,
	// and neither the list is recorded nor the stock moved.
	AfterCodesPart  Point = "after-codes-part"
	BeforeCodesMove Point = "before-codes-move"
	// InRun: a run of the audit or the statement has read, and not written.
	InRun Point = "in-run"
)
