package http

import (
	"context"
	"io"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/hook"
	"drawsvc/internal/job"
)

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

// Drawer decides draws. DrawFor accepts requests that were checked, has its own
// deadline and returns *draw.Error; requestID names the HTTP request in the log. After
// the beginning of Drain it rejects new draws as draining; Drain returns when the draws
// under way are decided, or with ctx's error.
type Drawer interface {
	DrawFor(ctx context.Context, requestID string, r draw.Request) (draw.Draw, error)
	Drain(ctx context.Context) error
}

// Reader has the reads that a caller of role draw may make.
type Reader interface {
	Pool(ctx context.Context, poolID string) (draw.Pool, error)
	// Draw returns a draw with the codes of its awards.
	Draw(ctx context.Context, poolID, drawID string) (draw.Draw, error)
}

// Tickets reads tickets: compact signed tokens that allow one draw each.
type Tickets interface {
	// Read returns the draw that a genuine ticket allows; the ticket may have expired.
	// Error: CodeTicketInvalid.
	Read(ticket string) (draw.Request, error)
	// AreTaken reports whether any ticket can be genuine.
	AreTaken() bool
}

// Pools creates, lists and changes pools.
type Pools interface {
	CreatePool(ctx context.Context, p draw.Pool, actor string) (draw.Pool, error)
	// PoolPage returns at most limit pools that wanted selects, with ids above after, in
	// order of their ids, and the value of after for the next page, "" for none.
	PoolPage(ctx context.Context, wanted draw.PoolFilter, after string, limit int) (pools []draw.Pool, next string, err error)
	ChangePool(ctx context.Context, poolID string, change draw.PoolChange, actor string) (draw.Pool, error)
}

// Accountant computes what can be won from a pool.
type Accountant interface {
	// Money returns what can be won now from the pool p, under its money and its rules.
	Money(ctx context.Context, p *draw.Pool) (draw.Money, error)
}

// Copier copies pools.
type Copier interface {
	// CopyPool creates a pool like another one, completely or not at all. planned has a
	// record, with its seal, for each group of items that were planned together.
	CopyPool(ctx context.Context, fromID string, c draw.PoolCopy, actor string) (copied draw.Pool, planned []draw.Planned, err error)
}

// Deleter deletes pools that have never issued a unit.
type Deleter interface {
	DeletePool(ctx context.Context, poolID string, revisions []int64, actor string) error
}

// Stocker adds prizes and moves stock.
type Stocker interface {
	AddPrize(ctx context.Context, poolID string, p draw.Prize, actor string) (draw.Prize, error)
	ChangePrize(ctx context.Context, poolID, prizeID string, change draw.PrizeChange, actor string) (draw.Prize, error)
	Stock(ctx context.Context, s draw.Stocking, actor string) (draw.Move, error)
}

// Importer stocks a pool from a CSV file, completely or not at all.
type Importer interface {
	Import(ctx context.Context, w draw.Import, file io.Reader, progress func(done, total int)) (draw.Imported, error)
}

// Ruler keeps the rules of pools.
type Ruler interface {
	// Rules returns the rules of a version, or those in force for version 0.
	Rules(ctx context.Context, poolID string, version int64) (draw.Ruling, error)
	// SetRules puts rules in force; nil removes them. If versions is not nil, it refuses to
	// do so unless the rules in force have one of these versions. [draw.AnyRules] stands for
	// all versions.
	SetRules(ctx context.Context, poolID string, rules *draw.Rules, versions []int64, actor string) (draw.Ruling, error)
}

// Odds states the chances of a pool's next draw.
type Odds interface {
	// Odds returns the odds of a user. If userID is "", they are those of a user without
	// turns. If the draw would be refused, the error has the refusal's code.
	Odds(ctx context.Context, poolID, userID string) (odds.Statement, error)
	// HadMoments reports whether the agenda of a pool ever held a winning moment.
	HadMoments(ctx context.Context, poolID string) (bool, error)
}

// Simulated reads the data that simulations begin with.
type Simulated interface {
	// Present reads one state of a pool, for a simulation that begins at the time at. Its
	// rules are draft, or those in force if draft is nil; it has at most itemsMax open
	// items.
	Present(ctx context.Context, poolID string, at time.Time, draft *draw.Rules, itemsMax int) (odds.Present, error)
}

// Users returns what users have used of their limits in pools whose rules count draws or
// wins. For other pools both methods return the error CodeUserNotCounted.
type Users interface {
	Standing(ctx context.Context, poolID, userID string) (urn.Standing, error)
	// UserAwards returns at most limit of a user's awards that the rules have
	// counted, with a version above after, in order of version.
	UserAwards(ctx context.Context, poolID, userID string, after int64, limit int) ([]draw.Award, error)
}

// Agendas reads the agendas of pools.
type Agendas interface {
	// Agenda returns at most limit items with a number above after, in order; if open is
	// set, it leaves out items that are done.
	Agenda(ctx context.Context, poolID string, after int64, limit int, open bool) ([]draw.Item, error)
	// Opening returns when the agenda opens a pool next, and when it pauses or closes
	// it; zero times for never.
	Opening(ctx context.Context, poolID string) (opens, closes time.Time, err error)
	// CheckAgendaFile returns the items that a CSV file would plan, and plans nothing.
	CheckAgendaFile(ctx context.Context, poolID string, file io.Reader) ([]draw.Item, draw.Encoding, error)
}

// AgendaParts reads parts of the agendas of pools.
type AgendaParts interface {
	// AgendaPart returns a page of a part of an agenda, in the order of that part. If the
	// first page leaves out open moves of stock, omitted is their number.
	AgendaPart(ctx context.Context, poolID string, page draw.AgendaPage) (items []draw.Item, omitted int64, err error)
	// AgendaSums returns the units that an agenda releases, by prize and by the spans between
	// times. withoutStock leaves open moves of stock out.
	AgendaSums(ctx context.Context, poolID string, times []time.Time, withoutStock bool) (draw.AgendaSums, error)
}

// Planner changes the agendas of pools.
type Planner interface {
	// PlanItem plans an item, only once under the same key unless it is "".
	PlanItem(ctx context.Context, poolID string, item draw.Item, key, actor string) (draw.Item, error)
	RemoveItem(ctx context.Context, poolID string, item int64, actor string) error
	// RemovePlanned removes the open items that the change of a version planned together.
	RemovePlanned(ctx context.Context, poolID string, version int64, actor string) (removed int64, err error)
}

// Scheduler plans many items as one change, completely or not at all.
type Scheduler interface {
	// PlanMoment plans a moment as an import of one item.
	PlanMoment(ctx context.Context, poolID string, item draw.Item, key, actor string) (draw.Planned, error)
	// ImportAgenda plans the items of a CSV file, only once under the same key unless
	// it is "".
	ImportAgenda(ctx context.Context, poolID string, file io.Reader, key, actor string) (draw.Planned, error)
	// SpreadAgenda plans the items of a schedule, with the same rule for keys.
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
	// FindAwards returns at most limit awards that f selects, with versions above
	// after, in order. through is the version up to which they are complete.
	FindAwards(ctx context.Context, poolID string, f draw.AwardFilter, after int64, limit int) (awards []draw.Award, through int64, err error)
	// Acts returns moves and changes as History.Log does.
	Acts(ctx context.Context, poolID string, after int64, limit int) ([]draw.Entry, error)
}

// Feeder reads the feed of awards over all pools.
type Feeder interface {
	// ExtendFeed adds a segment for each pool that has new entries, and returns the number
	// of the last segment.
	ExtendFeed(ctx context.Context) (int64, error)
	ReadFeed(ctx context.Context, wanted draw.FeedQuery) (draw.FeedPage, error)
	// FeedEnd returns the cursor after all segments.
	FeedEnd(ctx context.Context) (draw.FeedCursor, error)
}

// Auditor compares the rows of a pool with each other.
type Auditor interface {
	Audit(ctx context.Context, poolID string) (draw.Audit, error)
}

// Eraser replaces users in the records of their draws.
type Eraser interface {
	// EraseUser replaces a user in all awards of a pool, and returns their number.
	EraseUser(ctx context.Context, poolID, user, actor string) (awards int64, err error)
}

// Statements reads what the statement job has written.
type Statements interface {
	// Statements returns the lines of at most limit days after the day after. If days have
	// many lines, it returns fewer days. next is the last returned day if more may follow,
	// otherwise "".
	Statements(ctx context.Context, poolID, after string, limit int) (lines []job.Line, next string, err error)
}

// Codes manages the codes of prizes. None of its answers contains a code.
type Codes interface {
	// ImportCodes imports the codes of a file, only once under the same key unless it
	// is "".
	ImportCodes(ctx context.Context, w draw.CodeImport, file io.Reader, progress func(done, total int)) (draw.ImportedCodes, error)
	CodeCounts(ctx context.Context, poolID, prizeID string) (draw.CodeCounts, error)
	// DropCodes removes the last codes of the reserve.
	DropCodes(ctx context.Context, poolID, prizeID string, count int64, actor string) (draw.CodeCounts, error)
}

// Steps makes steps of awards.
type Steps interface {
	// Claim claims the award of a draw with the given ordinal, or for 0 all of its awards
	// that need a claim. This instance must be able to open their codes. Claim returns the
	// draw afterwards, with the codes that may be shown. The draw is marked as replayed if
	// the awards were already claimed.
	Claim(ctx context.Context, poolID, drawID, userID string, ordinal int, actor string) (draw.Draw, error)
	Step(ctx context.Context, poolID string, wanted draw.WantedStep, actor string) (made draw.Step, isThere bool, err error)
	// StepFile makes the steps of a CSV file, in parts, once all of them were checked.
	StepFile(ctx context.Context, poolID string, file io.Reader, w draw.StepFile) (draw.SteppedFile, error)
}

// StepReader reads the steps of a pool.
type StepReader interface {
	// StepsAfter returns at most limit steps with a number above after, in order.
	StepsAfter(ctx context.Context, poolID string, after int64, limit int) ([]draw.Step, error)
	LastStep(ctx context.Context, poolID string) (int64, error)
}

// Lives reads the states of awards, and their steps.
type Lives interface {
	Life(ctx context.Context, poolID string, version int64) (draw.Life, error)
	// FindByState returns at most limit awards in a state, as Finder does.
	FindByState(ctx context.Context, poolID string, f draw.AwardFilter, after int64, limit int) (found []draw.Life, through int64, err error)
	// ShowCode returns the code of an award, and records that it was shown.
	ShowCode(ctx context.Context, poolID string, version int64, actor string) (code string, err error)
}

// JobReader reads jobs and their runs.
type JobReader interface {
	Jobs(ctx context.Context) (rows []job.Row, now time.Time, err error)
	Job(ctx context.Context, name string) (r job.Row, now time.Time, err error)
	JobRuns(ctx context.Context, name string, after int64, limit int) ([]job.Past, error)
}

// JobChanger changes jobs and requests runs.
type JobChanger interface {
	ChangeJob(ctx context.Context, name string, c job.Change, actor string) (job.Row, error)
	WantJob(ctx context.Context, name, actor string) (job.Row, error)
}

// HookReader reads hooks, without their secrets.
type HookReader interface {
	ReadHooks(ctx context.Context) (all []hook.Seen, now time.Time, err error)
	ReadHook(ctx context.Context, id string) (h hook.Seen, now time.Time, err error)
}

// HookSecrets are the secrets of hooks.
type HookSecrets interface {
	// OpenHook returns a hook with its secrets.
	OpenHook(ctx context.Context, id string) (hook.Hook, error)
	// RotateHook returns the hook with its new secret.
	RotateHook(ctx context.Context, id string) (hook.Hook, error)
	// Now returns the database's time, with which tests are signed.
	Now() time.Time
}

// HookChanger changes hooks.
type HookChanger interface {
	// CreateHook returns the hook with its new secret.
	CreateHook(ctx context.Context, w hook.Create) (hook.Hook, error)
	ChangeHook(ctx context.Context, id string, c hook.Change) (hook.Hook, error)
	RemoveHook(ctx context.Context, id string) error
}

// HookMover changes which message a hook sends next.
type HookMover interface {
	RetryHook(ctx context.Context, id string) error
	// SkipHook skips a message that waits to be sent. It returns the places before and after
	// it.
	SkipHook(ctx context.Context, id, poolID string) (before, after hook.Place, err error)
	ReplayHook(ctx context.Context, id, poolID string, after hook.Place) error
}

// HookSender sends tests, and checks which addresses may be dialled.
type HookSender interface {
	CheckURL(url string) error
	Test(ctx context.Context, h *hook.Hook, now time.Time) hook.Answer
}

// Commitments reads the commitments of pools.
type Commitments interface {
	// Commitment returns the commitment of a pool. Errors: CodePoolNotFound,
	// CodeNotFound for a pool with secret numbers.
	Commitment(ctx context.Context, poolID string) (Commitment, error)
}

// Commitment is the commitment of a pool, and its present state.
type Commitment struct {
	// Version is the version of the log's entry about the commitment. Origin names the
	// public log.
	Version int64
	Origin  string
	// Note and Key are published at once, Checkpoint with the first checkpoint, Reveal
	// with the seed. Before that they are empty.
	Note, Key, Checkpoint, Reveal []byte
	Epochs, EpochLength           int64
	// Beacon is none, quicknet, or the beacon's words in the commitment. RoundsURL is
	// where the beacon publishes its rounds, by number; "" if that is not known.
	Beacon, RoundsURL string
	StockWhileOpen    bool
	// Receipts means that every draw of the pool is answered with a receipt.
	Receipts bool
	// Opened is the round that the pool was opened with last, the zero round for none.
	Opened draw.Round
	// SaltsErased means that the secret of the log's tags was destroyed. SeedsAway means
	// that this instance cannot unseal the seed.
	SaltsErased, SeedsAway bool
}

// Committer commits pools to their numbers, and returns their published files.
type Committer interface {
	// CommitPool commits a paused pool and returns the signed note.
	CommitPool(ctx context.Context, wanted Commit) ([]byte, error)
	// Reveal reveals the seed of a closed pool and returns its line.
	Reveal(ctx context.Context, poolID string) ([]byte, error)
	// Published returns a file of a committed pool: commitment, key, checkpoint or
	// reveal. Error: CodeNotFound, also if the file does not exist yet.
	Published(ctx context.Context, poolID, file string) ([]byte, error)
}

// Commit is a request to commit a pool.
type Commit struct {
	PoolID string
	// Origin is the host under which the pool's log will be published, "" for the
	// service's. Host is the host that the caller named.
	Origin, Host        string
	Epochs, EpochLength int64
	// Beacon is none, quicknet, or a beacon in the words of a commitment.
	Beacon         string
	StockWhileOpen bool
	// Receipts means that every draw of the pool will be answered with a receipt.
	Receipts bool
	Actor    string
}

// LogKeeper manages the public log of committed pools.
type LogKeeper interface {
	// SkipVersions records that the versions of a paused, committed pool give nothing, up
	// to and including the version to. It returns their number.
	SkipVersions(ctx context.Context, poolID string, to int64, reason, actor string) (skipped int64, err error)
	// KeepCheckpoint stores a checkpoint that the pool's publisher has signed.
	KeepCheckpoint(ctx context.Context, poolID string, note []byte) error
}

// LogWriter writes the public log of a committed pool whose seed is revealed.
type LogWriter interface {
	// WriteProofLog calls begin before its first write to w.
	WriteProofLog(ctx context.Context, poolID string, w io.Writer, begin func()) error
}

// Exporter writes the public log of a committed pool.
type Exporter interface {
	// ExportProof writes each existing file of [api.ProofFiles] to what create returns
	// for its name, and signs a checkpoint first if none covers the log. If it fails
	// before the first call of create, nothing was exported.
	ExportProof(ctx context.Context, poolID string, create func(name string) (io.Writer, error)) error
}

// Receipts signs receipts of committed pools' draws.
type Receipts interface {
	// Receipt returns the receipt of a draw. Errors: CodeInvalidRequest for a pool with
	// secret numbers, CodeNotFound if the secret of the tags was destroyed,
	// CodeSeedUnavailable, CodeRulesUnreadable.
	Receipt(ctx context.Context, d *draw.Draw) (draw.Receipt, error)
	// DrawReceipt returns the receipt of a draw in the log, and the proof that a
	// checkpoint covers the draw, both as JSON. The proof is nil if no checkpoint does.
	// Errors: CodeDrawNotFound, CodeNotFound, CodeSeedUnavailable, CodeRulesUnreadable,
	// CodeOverloaded.
	DrawReceipt(ctx context.Context, poolID, drawID string) (receipt, proof []byte, err error)
}

// ClockKeeper accepts leaps of the database's clock.
type ClockKeeper interface {
	// AcceptClock accepts the clock as right, and returns by how much it had leapt.
	AcceptClock(ctx context.Context) (by time.Duration, err error)
}

// Condition reports what an instance cannot do, even if its database answers.
type Condition interface {
	// SeedsAway reports whether a committed pool cannot be drawn from here, because its
	// seed cannot be unsealed.
	SeedsAway() bool
	// HasUnreadable reports whether this binary cannot read some rules or planned items.
	HasUnreadable() bool
	// HasCodesAway reports whether a pool with codes cannot be drawn from here, because
	// its codes cannot be opened.
	HasCodesAway() bool
}

// Watcher shows the pools to many callers at once.
type Watcher interface {
	// Watch calls write with each frame, an event of text/event-stream, until ctx ends,
	// write fails or there are no more frames. Error: CodeOverloaded if too many watch.
	Watch(ctx context.Context, write func(frame []byte) error) error
}
