package fault

// Point names a place in the code of draws, agendas, codes, steps, hooks or jobs.
type Point string

// The points. Each subject's points are in the order in which the code reaches them.
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
	// DueAfterCommit means that items of an agenda have been carried out durably, and nobody
	// has been notified.
	DueAfterCommit Point = "due-after-commit"
	// BeforeCodes means that draws are durable, and their codes have not been looked up.
	BeforeCodes Point = "before-codes"
	// AfterCodesPart means that a part of an import of codes is durable. BeforeCodesMove
	// means that all parts are durable, but the list is not recorded and the stock is not
	// moved.
	AfterCodesPart  Point = "after-codes-part"
	BeforeCodesMove Point = "before-codes-move"
	// StepsBeforeCommit means that steps of awards, and the moves of the units that return,
	// are written in an open transaction. StepsAfterCommit means that they are durable, and
	// nobody has been answered.
	StepsBeforeCommit Point = "steps-before-commit"
	StepsAfterCommit  Point = "steps-after-commit"
	// BeforeCursor means that a receiver has accepted a message, or that a message is about
	// to begin, and the hook's cursor does not show it. AfterCursor means that the cursor
	// shows it, and the next message has not been sent.
	BeforeCursor Point = "before-cursor"
	AfterCursor  Point = "after-cursor"
	// InRun means that a run of the audit or the statement has read, but not written.
	InRun Point = "in-run"
)
