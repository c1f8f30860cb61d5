package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"drawsvc/internal/catalogue"
	"drawsvc/internal/draw"
	"drawsvc/internal/job"
	"drawsvc/internal/locker"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock"
)

// jobFlags are the flags of `serve` for jobs.
type jobFlags struct {
	host            string
	lockSecret      setting.Secret
	catalogueSecret setting.Secret
	catalogueEvery  time.Duration
	// lock and catalogueURL are read from the secrets.
	lock, catalogueURL string
}

func (j *jobFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	f.StringVar(&j.host, "host-name", host, "`name` of this instance, for jobs that are pinned to one")
	j.lockSecret.Flag(f, "jobs-lock", "table:", "`URL` of the lock of jobs, in the form of --lock")
	j.catalogueSecret.Flag(f, "catalogue-url", "", "`URL` of the catalogue of prizes (default none)")
	f.DurationVar(&j.catalogueEvery, "catalogue-every", 6*time.Hour, "time between two fetches of the catalogue")
}

// read reads the URLs from their files, if files are given.
func (j *jobFlags) read(flags *pflag.FlagSet) (err error) {
	if j.lock, err = j.lockSecret.ReadURL(flags); err != nil {
		return err
	}
	j.catalogueURL, err = j.catalogueSecret.Read(flags)
	return err
}

// Validate checks the flags.
func (j *jobFlags) Validate() error {
	if err := job.CheckHost(j.host); err != nil {
		return fmt.Errorf("--host-name: %s", setting.Message(err))
	}
	if j.catalogueURL != "" {
		if err := catalogue.CheckURL(j.catalogueURL); err != nil {
			return fmt.Errorf("--catalogue-url: %s", setting.Message(err))
		}
	}
	if err := checkLock("jobs-lock", j.lock); err != nil {
		return err
	}
	return setting.Within("catalogue-every", j.catalogueEvery, time.Second, 30*24*time.Hour)
}

// warn logs a warning if anyone on the network path can change the catalogue.
func (j *jobFlags) warn(log *slog.Logger) {
	if j.exposedCatalogue() != "" {
		log.Warn("the catalogue is fetched without encryption, and anyone on the network path can change it; use https", "flag", "--catalogue-url")
	}
}

// exposedCatalogue returns the host from which the catalogue comes without encryption, ""
// if it comes encrypted or from this machine.
func (j *jobFlags) exposedCatalogue() string {
	u, err := url.Parse(j.catalogueURL)
	if err != nil || u.Scheme != "http" || isLoopback(u.Hostname()) {
		return ""
	}
	return u.Hostname()
}

// jobs holds the jobs of this instance, and its copy of the catalogue.
type jobs struct {
	runner *job.Runner
	memory *catalogue.Memory
	lock   locker.Lock
	end    context.CancelFunc
	ended  sync.WaitGroup
}

const (
	// jobsLockTTL and jobsLockWait are the settings of the lock of jobs: an instance
	// that finds it taken tries again at the next poll.
	jobsLockTTL  = 10 * time.Second
	jobsLockWait = 100 * time.Millisecond
	// loadMax bounds the load of the catalogue before the service serves.
	loadMax = 5 * time.Second
)

// startJobs loads the stored catalogue and starts the runner. others are jobs in addition
// to those that every service has.
func startJobs(ctx context.Context, c *Config, store *stock.Store, r prometheus.Registerer, log *slog.Logger, others ...job.Definition) (*jobs, error) {
	lock, err := locker.Open(ctx, c.jobs.lock, locker.Options{TTL: jobsLockTTL, Wait: jobsLockWait, Log: log, Database: store})
	if err != nil {
		return nil, fmt.Errorf("--jobs-lock: %w", err)
	}
	definitions := []job.Definition{job.Audit(store), job.Statement(store), job.Claims(store)}
	if c.jobs.catalogueURL != "" {
		definitions = append(definitions, catalogue.Job(store, c.jobs.catalogueURL, c.jobs.catalogueEvery))
	}
	definitions = append(definitions, others...)
	j := &jobs{memory: catalogue.NewMemory(store, log), lock: lock}
	j.runner, err = job.New(job.Options{
		Rows: store, Runs: store, Locker: lock, Observer: newJobMetrics(r, store, j.memory, definitions), Log: log,
		Host: c.jobs.host, Jobs: definitions, Poll: job.PollDefault,
	})
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	loading, cancel := context.WithTimeout(ctx, loadMax)
	defer cancel()
	// If AddJobs or Load fails, it is tried again later: a service whose schema has no
	// jobs can still serve draws.
	if err := errors.Join(store.AddJobs(loading, job.Wanted(loading, definitions)), j.memory.Load(loading), c.jobs.askForCatalogue(loading, store)); err != nil {
		log.Warn("jobs and the catalogue could not be read yet", "error", err)
	}
	running, end := context.WithCancel(ctx)
	j.end = end
	j.ended.Go(func() { j.runner.Run(running) })
	j.ended.Go(func() { j.memory.Watch(running, catalogue.WatchDefault) })
	return j, nil
}

// askForCatalogue requests a run if the stored catalogue came from another address,
// unless the job is off, because an operator who has switched it off does not want a
// fetch.
func (j *jobFlags) askForCatalogue(ctx context.Context, store *stock.Store) error {
	if j.catalogueURL == "" {
		return nil
	}
	stored, err := store.Catalogue(ctx, "")
	if err != nil || stored == nil || stored.IsFrom(j.catalogueURL) {
		return err
	}
	row, _, err := store.Job(ctx, catalogue.JobName)
	if err != nil || !row.Enabled {
		return err
	}
	_, err = store.WantJob(ctx, catalogue.JobName, "serve")
	if draw.CodeOf(err) == draw.CodeJobRunning {
		return nil // another instance that was started with the same address has requested it
	}
	return err
}

// stop ends the runs of this instance. They are due again at once, so another instance
// runs them.
func (j *jobs) stop() error {
	j.end()
	j.ended.Wait()
	return j.lock.Close()
}

// jobMetrics shows jobs as metrics. It implements job.Observer.
type jobMetrics struct {
	store       *stock.Store
	lastSuccess *prometheus.GaugeVec
	overdue     *prometheus.GaugeVec
	runs        *prometheus.CounterVec
	violations  prometheus.Gauge
	// audited is the number of the audit whose report is shown.
	audited int64
}

func newJobMetrics(r prometheus.Registerer, store *stock.Store, memory *catalogue.Memory, definitions []job.Definition) *jobMetrics {
	f := promauto.With(r)
	labels := []string{"job"}
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "drawsvc_catalogue_age_seconds",
		Help: "Time since the catalogue's source last said what is served; while it never did, since the start; 0 without --catalogue-url.",
	}, catalogueAge(memory, definitions))
	m := &jobMetrics{
		store: store,
		lastSuccess: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "drawsvc_job_last_success_timestamp_seconds", Help: "Time of the last run that succeeded, on any instance.",
		}, labels),
		overdue: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "drawsvc_job_overdue_seconds", Help: "How long nobody has run a job that is due.",
		}, labels),
		runs: f.NewCounterVec(prometheus.CounterOpts{
			Name: "drawsvc_job_runs_total", Help: "Runs on this instance by job and result: ok, failed or lost.",
		}, []string{"job", "result"}),
		violations: f.NewGauge(prometheus.GaugeOpts{
			Name: "drawsvc_audit_violations", Help: "Violations that the last audit of all pools found, on any instance.",
		}),
	}
	for _, d := range definitions {
		for _, result := range []job.Result{job.ResultOK, job.ResultFailed, job.ResultLost} {
			m.runs.WithLabelValues(d.Name, string(result))
		}
	}
	return m
}

// catalogueAge returns the age in seconds of the served catalogue.
func catalogueAge(memory *catalogue.Memory, definitions []job.Definition) func() float64 {
	started := time.Now()
	fetches := slices.ContainsFunc(definitions, func(d job.Definition) bool { return d.Name == catalogue.JobName })
	return func() float64 {
		at := memory.CheckedAt()
		switch {
		case at.IsZero() && !fetches:
			return 0
		case at.IsZero():
			at = started
		}
		return time.Since(at).Seconds()
	}
}

// Seen implements job.Observer.
func (m *jobMetrics) Seen(ctx context.Context, rows []job.Row, now time.Time) {
	for i := range rows {
		r := &rows[i]
		m.overdue.WithLabelValues(r.Name).Set(r.Overdue(now).Seconds())
		if !r.LastSuccess.IsZero() {
			m.lastSuccess.WithLabelValues(r.Name).Set(float64(r.LastSuccess.UnixMicro()) / 1e6)
		}
		if r.Name == job.AuditName && r.Token != m.audited && r.Status == job.StatusIdle {
			m.showAudit(ctx, r.Token)
		}
	}
}

// showAudit reads the report of the last audit, which is too large for a row.
func (m *jobMetrics) showAudit(ctx context.Context, number int64) {
	r, _, err := m.store.Job(ctx, job.AuditName)
	var report job.AuditReport
	if err != nil || len(r.Report) == 0 || json.Unmarshal(r.Report, &report) != nil {
		return // the next poll tries again
	}
	m.violations.Set(float64(report.Violations))
	m.audited = number
}

// Ended implements job.Observer.
func (m *jobMetrics) Ended(name string, result job.Result) {
	m.runs.WithLabelValues(name, string(result)).Inc()
}
