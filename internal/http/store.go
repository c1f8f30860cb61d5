package http

import (
	"context"
	"io"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/job"
)

// Store is what the wire needs of the database, by subject.
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

// Drawer decides draws. DrawFor takes requests that were checked, has a deadline
// of its own and returns *draw.Error; requestID names the HTTP request in the
// log. From the beginning of Drain on it rejects new draws as draining; Drain
// returns once those under way are decided, or with ctx's error.
type Drawer interface {
	DrawFor(ctx context.Context, requestID string, r draw.Request) (draw.Draw, error)
	Drain(ctx context.Context) error
}

// Reader answers what those who draw may read.
type Reader interface {
	Pool(ctx context.Context, poolID string) (draw.Pool, error)
	// Draw returns a draw with the codes of its awards.
	Draw(ctx context.Context, poolID, drawID string) (draw.Draw, error)
}

// Tickets reads tickets, compact signed tokens that allow one draw each.
type Tickets interface {
	// Read returns the draw that a genuine ticket allows, which may have expired.
	// Error: CodeTicketInvalid.
	Read(ticket string) (draw.Request, error)
	// AreTaken reports whether any ticket can be genuine.
	AreTaken() bool
}

// Pools makes, lists and changes pools.
type Pools interface {
	CreatePool(ctx context.Context, p draw.Pool, actor string) (draw.Pool, error)
	// PoolPage returns at most limit pools that are not archived, with ids above
	// after, in order of their ids.
	PoolPage(ctx context.Context, after string, limit int, archived bool) ([]draw.Pool, error)
	ChangePool(ctx context.Context, poolID string, change draw.PoolChange, actor string) (draw.Pool, error)
}

// Deleter removes pools that have never issued a unit.
type Deleter interface {
	DeletePool(ctx context.Context, poolID string, revisions []int64, actor string) error
}

// Stocker adds prizes and moves stock.
type Stocker interface {
	AddPrize(ctx context.Context, poolID string, p draw.Prize, actor string) (draw.Prize, error)
	ChangePrize(ctx context.Context, poolID, prizeID string, change draw.PrizeChange, actor string) (draw.Prize, error)
	Stock(ctx context.Context, s draw.Stocking, actor string) (draw.Move, error)
}

// Importer stocks a pool from a CSV file, whole or not at all.
type Importer interface {
	Import(ctx context.Context, w draw.Import, file io.Reader, progress func(done, total int)) (draw.Imported, error)
}

// Ruler keeps the rules of pools.
type Ruler interface {
	// Rules returns those of a version, and those in force for version 0.
	Rules(ctx context.Context, poolID string, version int64) (draw.Ruling, error)
	// SetRules puts rules in force, nil for none. versions, where not nil, are
	// those that the rules in force may have, [draw.AnyRules] every one.
	SetRules(ctx context.Context, poolID string, rules *draw.Rules, versions []int64, actor string) (draw.Ruling, error)
}

// Odds states the chances of a pool's next draw.
type Odds interface {
	// Odds are those of a user, or for userID "" of one without turns. A draw
	// that would be refused is an error with the refusal's code.
	Odds(ctx context.Context, poolID, userID string) (odds.Statement, error)
}

// Users says where users of pools stand, whose rules count draws or wins. For
// other pools both return CodeUserNotCounted.
type Users interface {
	Standing(ctx context.Context, poolID, userID string) (urn.Standing, error)
	// UserAwards returns at most limit of a user's awards that the rules have
	// counted, with a version above after, in order of version.
	UserAwards(ctx context.Context, poolID, userID string, after int64, limit int) ([]draw.Award, error)
}

// Agendas shows the agendas of pools.
type Agendas interface {
	// Agenda returns at most limit items with a number above after, in order;
	// open leaves out those that are done.
	Agenda(ctx context.Context, poolID string, after int64, limit int, open bool) ([]draw.Item, error)
	// Opening says when the agenda opens a pool next, and when it pauses or closes
	// it; zero times for never.
	Opening(ctx context.Context, poolID string) (opens, closes time.Time, err error)
}

// Planner changes the agendas of pools.
type Planner interface {
	// PlanItem plans an item; under a key, unless it is "", once.
	PlanItem(ctx context.Context, poolID string, item draw.Item, key, actor string) (draw.Item, error)
	RemoveItem(ctx context.Context, poolID string, item int64, actor string) error
}

// Scheduler plans many stock items as one change, whole or not at all.
type Scheduler interface {
	// ImportAgenda plans those of a CSV file; under a key, unless it is "", once.
	ImportAgenda(ctx context.Context, poolID string, file io.Reader, key, actor string) (draw.Planned, error)
	// SpreadAgenda plans those of a schedule, likewise.
	SpreadAgenda(ctx context.Context, poolID string, spread draw.Spread, key, actor string) (draw.Planned, error)
}

// History reads a pool's log. Each method returns at most limit entries with a
// version above after, in order of version: awards, moves, or all of them.
type History interface {
	Awards(ctx context.Context, poolID string, after int64, limit int) ([]draw.Award, error)
	Moves(ctx context.Context, poolID string, after int64, limit int) ([]draw.Move, error)
	Log(ctx context.Context, poolID string, after int64, limit int) ([]draw.Entry, error)
}

// Finder searches a pool's history.
type Finder interface {
	// FindAwards returns at most limit awards that f wants, with versions above
	// after, in order. through is the version up to which these are all.
	FindAwards(ctx context.Context, poolID string, f draw.AwardFilter, after int64, limit int) (awards []draw.Award, through int64, err error)
	// Acts returns moves and changes as History.Log does.
	Acts(ctx context.Context, poolID string, after int64, limit int) ([]draw.Entry, error)
}

// Auditor holds the rows of a pool against each other.
type Auditor interface {
	Audit(ctx context.Context, poolID string) (draw.Audit, error)
}

// Eraser replaces users in what is kept of their draws.
type Eraser interface {
	// EraseUser replaces a user in all awards of a pool, and returns their number.
	EraseUser(ctx context.Context, poolID, user, actor string) (awards int64, err error)
}

// Statements reads what the statement job has written.
type Statements interface {
	// Statements returns the lines of the days after one, at most limit days.
	Statements(ctx context.Context, poolID, after string, limit int) ([]job.Line, error)
}

// Codes keeps the codes of prizes. None of its answers holds one.
type Codes interface {
	// ImportCodes imports those of a file; under a key, unless it is "", once.
	ImportCodes(ctx context.Context, w draw.CodeImport, file io.Reader, progress func(done, total int)) (draw.ImportedCodes, error)
	CodeCounts(ctx context.Context, poolID, prizeID string) (draw.CodeCounts, error)
	// DropCodes removes the last codes of the reserve.
	DropCodes(ctx context.Context, poolID, prizeID string, count int64, actor string) (draw.CodeCounts, error)
}

// JobReader reads jobs and their runs.
type JobReader interface {
	Jobs(ctx context.Context) (rows []job.Row, now time.Time, err error)
	Job(ctx context.Context, name string) (r job.Row, now time.Time, err error)
	JobRuns(ctx context.Context, name string, after int64, limit int) ([]job.Past, error)
}

// JobChanger changes jobs and asks for runs.
type JobChanger interface {
	ChangeJob(ctx context.Context, name string, c job.Change, actor string) (job.Row, error)
	WantJob(ctx context.Context, name, actor string) (job.Row, error)
}

// Commitments says what pools are committed to.
type Commitments interface {
	// Commitment is that of a pool. Errors: CodePoolNotFound, CodeNotFound for a
	// pool whose numbers are secret.
	Commitment(ctx context.Context, poolID string) (Commitment, error)
}

// Commitment is what a pool is committed to, and how far its life has come.
type Commitment struct {
	// Version is that of the commitment's entry. Origin names the public log.
	Version int64
	Origin  string
	// Note and Key are published at once, Checkpoint with the first one, Reveal
	// with the seed; until then they are empty.
	Note, Key, Checkpoint, Reveal []byte
	Epochs, EpochLength           int64
	// Beacon is none, quicknet, or the words of the commitment. RoundsURL is where
	// its rounds are published, under their numbers; "" where that is not known.
	Beacon, RoundsURL string
	StockWhileOpen    bool
	// Receipts says that every draw of the pool is answered with a receipt.
	Receipts bool
	// Opened is the round that the pool was opened with last, the zero round for
	// none.
	Opened draw.Round
	// SaltsErased says that the secret of the log's tags was destroyed, SeedsAway
	// that this instance cannot unseal the seed.
	SaltsErased, SeedsAway bool
}

// Committer commits pools to their numbers, and shows what is published of it.
type Committer interface {
	// CommitPool commits a paused pool and returns the signed note.
	CommitPool(ctx context.Context, wanted Commit) ([]byte, error)
	// Reveal reveals the seed of a closed pool and returns its line.
	Reveal(ctx context.Context, poolID string) ([]byte, error)
	// Published returns a file of a committed pool: commitment, key, checkpoint
	// or reveal. Error: CodeNotFound, also for one that is not there yet.
	Published(ctx context.Context, poolID, file string) ([]byte, error)
}

// Commit is a wanted commitment of a pool.
type Commit struct {
	PoolID string
	// Origin is the host that the pool's log is to be published under, "" for that
	// of the service; Host is the one that was called.
	Origin, Host        string
	Epochs, EpochLength int64
	// Beacon is none, quicknet, or the words of a commitment.
	Beacon         string
	StockWhileOpen bool
	// Receipts has every draw of the pool answered with a receipt.
	Receipts bool
	Actor    string
}

// LogKeeper keeps the public log of committed pools.
type LogKeeper interface {
	// SkipVersions records the versions of a paused, committed pool up to and with to
	// as giving nothing, and returns how many those are.
	SkipVersions(ctx context.Context, poolID string, to int64, reason, actor string) (skipped int64, err error)
	// KeepCheckpoint stores a checkpoint that the pool's publisher has signed.
	KeepCheckpoint(ctx context.Context, poolID string, note []byte) error
}

// LogWriter writes the public log of a committed pool whose seed is revealed.
type LogWriter interface {
	// WriteProofLog writes to w behind a call of begin; before it nothing was
	// written.
	WriteProofLog(ctx context.Context, poolID string, w io.Writer, begin func()) error
}

// Exporter has a committed pool's log leave the house.
type Exporter interface {
	// ExportProof writes each of [api.ProofFiles] that is there to what create returns
	// for its name, and signs a checkpoint before where none covers the log. An
	// error before the first call of create has exported nothing.
	ExportProof(ctx context.Context, poolID string, create func(name string) (io.Writer, error)) error
}

// Receipts signs what committed pools promise of draws, as JSON.
type Receipts interface {
	// Receipt is the receipt of a draw that was made. Errors: CodeInvalidRequest for a
	// pool whose numbers are secret, CodeNotFound where the secret of the tags was
	// destroyed, CodeSeedUnavailable, CodeRulesUnreadable.
	Receipt(ctx context.Context, d *draw.Draw) ([]byte, error)
	// DrawReceipt is the receipt of a draw in the log, and the proof that a
	// checkpoint covers it, nil where none does. Errors: CodeDrawNotFound,
	// CodeNotFound, CodeSeedUnavailable, CodeRulesUnreadable, CodeOverloaded.
	DrawReceipt(ctx context.Context, poolID, drawID string) (receipt, proof []byte, err error)
}

// ClockKeeper judges the database's clock.
type ClockKeeper interface {
	// AcceptClock takes the clock to be right, and returns by how much it had leapt.
	AcceptClock(ctx context.Context) (by time.Duration, err error)
}

// Condition is what an instance cannot do, although its database answers.
type Condition interface {
	// SeedsAway reports whether a committed pool cannot be drawn from here, because its
	// seed cannot be unsealed.
	SeedsAway() bool
	// HasUnreadable reports whether this binary cannot read some rules or planned items.
	HasUnreadable() bool
	// HasCodesAway reports whether a pool with codes cannot be drawn from here, because its
	// codes do not open.
	HasCodesAway() bool
}

// Watcher shows the pools to many at once.
type Watcher interface {
	// Watch calls write with each frame, an event of text/event-stream, until ctx
	// ends, write fails or there are no more frames. Error: CodeOverloaded when too
	// many watch.
	Watch(ctx context.Context, write func(frame []byte) error) error
}
