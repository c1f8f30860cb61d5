package job

import (
	"context"
	"strings"
	"time"

	"drawsvc/internal/draw"
)

// Limits of a job.
const (
	// StaleAfterDefault is the time after which another instance takes over the run of a
	// silent runner, unless the row sets another time.
	StaleAfterDefault = 30 * time.Minute
	// StaleAfterMin and StaleAfterMax bound StaleAfter.
	StaleAfterMin = time.Second
	StaleAfterMax = 7 * 24 * time.Hour
	// HostMax is the maximum length of a host's name, in bytes.
	HostMax = 128
	// ErrorMax is the maximum length of an error's text in a row, in bytes.
	ErrorMax = 1000
	// ReportMax is the maximum length of a report in a row, in bytes.
	ReportMax = 256 << 10
	// RunsKept is the number of runs of a job that the history keeps.
	RunsKept = 200
)

// Per is how often a job may succeed.
type Per string

// The values of Per.
const (
	// PerRun makes every firing a run.
	PerRun Per = "run"
	// PerDay allows one success for each local day, however often the schedule fires.
	PerDay Per = "day"
)

// Status of a job.
type Status string

// The two states of a job.
const (
	StatusIdle    Status = "idle"
	StatusRunning Status = "running"
)

// Result of a run.
type Result string

// The results of a run. Lost means that the runner died, stalled or was stopped, or that
// its lock may have been lost. The job is then due again at once.
const (
	ResultOK     Result = "ok"
	ResultFailed Result = "failed"
	ResultLost   Result = "lost"
)

// Definition is a job as the program defines it.
type Definition struct {
	// Name is an id like those of pools.
	Name string
	// Schedule and Per are the values of a new row; see [Parse].
	Schedule string
	Per      Per
	// Max is the maximum time of a run.
	Max time.Duration
	// Retry is the time after which a failed run is repeated, unless the schedule fires
	// earlier. With 0, only the schedule repeats it.
	Retry time.Duration
	// StaleAfter is the value of a new row; 0 means StaleAfterDefault.
	StaleAfter time.Duration
	// IsWanted, if not nil, reports whether there is work. Without work no run of the
	// schedule begins, and no row is added.
	IsWanted func(ctx context.Context) bool
	// Do does the work. Its context ends when the run may be lost. Its result, at most
	// ReportMax bytes of JSON, becomes the job's last report; nil keeps the previous
	// report.
	Do func(ctx context.Context, run Run) (report []byte, err error)
}

// Row is a job in the database.
type Row struct {
	Name    string
	Enabled bool
	// Schedule is a text for [Parse], Per how often the job may succeed.
	Schedule string
	Per      Per
	// Host is the only host that may run the job; "" allows all.
	Host string
	// StaleAfter is the maximum time between two reports of a runner.
	StaleAfter time.Duration
	Status     Status
	// Holder is the host that runs the job, or ran it last.
	Holder string
	// Token is the number of the last run.
	Token int64
	// StartedAt is when the last run began, HeardAt when its runner last reported.
	StartedAt, HeardAt time.Time
	// DueAt is when the job is due next. While a run is under way, it is the next time after
	// that run.
	DueAt time.Time
	// WantedBy is the actor who requested a run, independent of the schedule, "" for none.
	// It stays set until a run has succeeded or failed.
	WantedBy    string
	LastSuccess time.Time
	// LastDay is the local day of the last success, as 2006-01-02.
	LastDay   string
	LastError string
	// Report is the last report of a run, as JSON; Rows leaves it out.
	Report []byte
	// ChangedBy is the actor of the last change, ChangedAt its time.
	ChangedBy string
	ChangedAt time.Time
}

// Run identifies a run: Token is its number in the job's history, and fences the writes
// of the run.
type Run struct {
	Job   string
	Token int64
	Host  string
	// Began is when it began, by the database's clock. StaleAfter is the row's.
	Began      time.Time
	StaleAfter time.Duration
	// Zone is the time zone of the row's schedule.
	Zone *time.Location
}

// Past is a run in the history of a job.
type Past struct {
	Run
	// Finished is the zero time and Result "" while the run is under way.
	Finished time.Time
	Result   Result
	Error    string
	// AskedBy is the actor who requested the run, "" for a run of the schedule.
	AskedBy string
}

// Outcome is how a run ended.
type Outcome struct {
	Result Result
	// Error is the reason why the run failed or was lost, at most ErrorMax bytes.
	Error string
	// Report replaces the job's report, unless nil.
	Report []byte
	// Retry is the Retry of the job's definition.
	Retry time.Duration
}

// Change is an operator's change of a row; nil members leave their values unchanged.
type Change struct {
	Enabled  *bool
	Schedule *string
	// Host pins the job; "" unpins it.
	Host       *string
	StaleAfter *time.Duration
}

// Check returns CodeInvalidRequest for a value that is out of range, and for a change
// without any member.
func (c Change) Check() error {
	if c == (Change{}) {
		return draw.Errorf(draw.CodeInvalidRequest, "nothing to change: give enabled, schedule, host or stale_after")
	}
	if c.Schedule != nil {
		if _, err := Parse(*c.Schedule); err != nil {
			return err
		}
	}
	if c.Host != nil && *c.Host != "" {
		if err := CheckHost(*c.Host); err != nil {
			return err
		}
	}
	if c.StaleAfter != nil && (*c.StaleAfter < StaleAfterMin || *c.StaleAfter > StaleAfterMax) {
		return draw.Errorf(draw.CodeInvalidRequest, "stale_after must be from %s to %s", StaleAfterMin, StaleAfterMax)
	}
	return nil
}

// CheckHost returns CodeInvalidRequest for an invalid host name: valid ones have 1 to
// HostMax printable ASCII characters without a space.
func CheckHost(name string) error {
	if name == "" || len(name) > HostMax {
		return draw.Errorf(draw.CodeInvalidRequest, "host must have 1 to %d characters", HostMax)
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' {
			return draw.Errorf(draw.CodeInvalidRequest, "host must have only printable ASCII characters, without spaces")
		}
	}
	return nil
}

// ErrLost means that nothing was written: a later run has begun, or the row has no run
// under way.
var ErrLost = draw.Errorf(draw.CodeContended, "the run is lost: another one has begun")

// ErrRunning returns the error of a request for a run while one is under way.
func ErrRunning(name string) error {
	return draw.Errorf(draw.CodeJobRunning, "job %q is running", name)
}

// ErrNotFound returns the error of a call for a job without a row.
func ErrNotFound(name string) error {
	if name == AuditName || name == StatementName || name == ClaimsName { // every service has these jobs
		return draw.Errorf(draw.CodeJobNotFound, "there is no job %q yet: the first start of the service creates it", name)
	}
	return draw.Errorf(draw.CodeJobNotFound, "there is no job %q", name)
}

// FormatDuration formats a duration without zero units: 30m, not 30m0s.
func FormatDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
