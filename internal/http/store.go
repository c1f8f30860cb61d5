package http

// Store is what the wire needs of the database, by subject. Each part stands beside
// the calls that it answers.
type Store interface { //nolint:interfacebloat // composed of small parts: one wire, one store
	// Pools, prizes and stock.
	Reader
	Pools
	Deleter
	Stocker
	Importer
	Codes
	// Rules, and what follows from them.
	Ruler
	Odds
	Users
	// Agendas.
	Agendas
	Planner
	Scheduler
	// History.
	History
	Finder
	Auditor
	Eraser
	// Jobs and what they write.
	JobReader
	JobChanger
	Statements
	// Verifiable draws.
	Commitments
	Committer
	LogKeeper
	LogWriter
	Exporter
	Receipts
	// The instance's own state.
	ClockKeeper
	Condition
}
