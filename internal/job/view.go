package job

import (
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
)

// View is a row as JSON, for the interface and the command line. Times are RFC 3339 in
// UTC, null for none.
type View struct {
	Name     string  `json:"name"`
	Enabled  bool    `json:"enabled"`
	Schedule string  `json:"schedule"`
	Per      Per     `json:"per"`
	Host     *string `json:"host"`
	Status   Status  `json:"status"`
	// Holder is the host that runs the job, or ran it last.
	Holder     *string `json:"holder"`
	StartedAt  *string `json:"started_at"`
	StaleAfter string  `json:"stale_after"`
	Token      int64   `json:"token"`
	DueAt      string  `json:"due_at"`
	// OverdueSeconds is how long the job has been due without a run.
	OverdueSeconds int64 `json:"overdue_seconds"`
	// Requested means that an actor requested a run that has not begun.
	Requested   bool    `json:"requested"`
	LastSuccess *string `json:"last_success"`
	LastError   *string `json:"last_error"`
	// LastErrorCode is the code of LastError.
	LastErrorCode *draw.Code `json:"last_error_code"`
	ChangedBy     *string    `json:"changed_by"`
	ChangedAt     string     `json:"changed_at"`
	// Report is the last report of a run. It is absent if it was not read.
	Report json.RawMessage `json:"report,omitempty"`
}

// View returns the row's view at a time of the database's clock.
func (r *Row) View(now time.Time) View {
	report := json.RawMessage(r.Report)
	if !jsontext.Value(report).IsValid() {
		report = nil // there is no report yet, or it is damaged
	}
	return View{
		Name: r.Name, Enabled: r.Enabled, Schedule: r.Schedule, Per: r.Per, Host: orNull(r.Host), Status: r.Status,
		Holder: orNull(r.Holder), StartedAt: timeOrNull(r.StartedAt), StaleAfter: FormatDuration(r.StaleAfter), Token: r.Token,
		DueAt: formatTime(r.DueAt), OverdueSeconds: int64(r.Overdue(now).Seconds()), Requested: r.WantedBy != "" && r.Status == StatusIdle,
		LastSuccess: timeOrNull(r.LastSuccess), LastError: orNull(r.LastError), LastErrorCode: orNull(ErrorCode(r.LastError)),
		ChangedBy: orNull(r.ChangedBy), ChangedAt: formatTime(r.ChangedAt), Report: report,
	}
}

// RunView is a run of the history as JSON.
type RunView struct {
	// ID is the number of the run in the job's history.
	ID         int64   `json:"id"`
	Job        string  `json:"job"`
	Host       string  `json:"host"`
	StartedAt  string  `json:"started_at"`
	FinishedAt *string `json:"finished_at"`
	// Result is null while the run is under way.
	Result *Result `json:"result"`
	Error  *string `json:"error"`
	// ErrorCode is the code of Error.
	ErrorCode *draw.Code `json:"error_code"`
	AskedBy   *string    `json:"asked_by"`
}

// View returns the run's view.
func (p *Past) View() RunView {
	return RunView{
		ID: p.Token, Job: p.Job, Host: p.Host, StartedAt: formatTime(p.Began), FinishedAt: timeOrNull(p.Finished),
		Result: orNull(p.Result), Error: orNull(p.Error), ErrorCode: orNull(ErrorCode(p.Error)), AskedBy: orNull(p.AskedBy),
	}
}

// orNull returns nil for the zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func formatTime(t time.Time) string { return t.UTC().Format(draw.TimeFormat) }

func timeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return orNull(formatTime(t))
}
