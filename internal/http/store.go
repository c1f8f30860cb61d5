package http

// Store is the part of the database's store that this package uses, by subject.
type Store interface { //nolint:interfacebloat // composed of small parts: one wire, one store
	// Pools, prizes and stock.
	Reader
	Pools
	Accountant
	Copier
	Deleter
	Stocker
	Importer
	Codes
	// The steps of awards.
	Steps
	StepReader
	Lives
	// Rules, and what follows from them.
	Ruler
	Odds
	Simulated
	Users
	// Agendas.
	Agendas
	AgendaParts
	Planner
	Scheduler
	// History.
	History
	Finder
	Feeder
	Auditor
	Eraser
	// Jobs and what they write.
	JobReader
	JobChanger
	Statements
	// Webhooks.
	HookReader
	HookSecrets
	HookChanger
	HookMover
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
