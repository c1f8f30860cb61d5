//go:build unix

package job_test

import (
	"fmt"
	"log/slog"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/catalogue"
	"drawsvc/internal/job"
	"drawsvc/internal/stock"
)

// idleMax is the part of a core that the jobs of an idle instance may use.
const idleMax = 0.001

// used returns the processor time of this process.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestIdleCost: an instance that waits for its jobs reads their rows and looks for a new
// catalogue, which costs almost nothing. The test measures the processor time of the
// whole process, so no other test runs in parallel. That time includes SQLite's, but not
// that of a database server.
func TestIdleCost(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			f := newFleet(t, dialect, "table", 3)
			all := productJobs(t, f)
			const faster = 500 // times as fast as in a service, so that the test is short
			var polled seen
			var stops []func()
			before := used(t)
			for n := range 3 {
				options := f.options(n, all...)
				options.Poll, options.Observer = job.PollDefault/faster, &polled[n]
				stops = append(stops, start(t, options))
			}
			eventually(t, "enough polls", func() bool { return polled[0].Load() > faster })
			for _, stop := range stops {
				stop()
			}
			times := polled[0].Load() + polled[1].Load() + polled[2].Load()
			aPoll := (used(t) - before) / time.Duration(times)

			memory := catalogue.NewMemory(f.stores[0], slog.New(slog.DiscardHandler))
			require.NoError(t, memory.Load(t.Context()))
			before = used(t)
			for range faster {
				require.NoError(t, memory.Load(t.Context()))
			}
			aLoad := (used(t) - before) / faster

			// Both intervals are random. On average they are an eighth shorter than the
			// maximum.
			share := (aPoll.Seconds()/job.PollDefault.Seconds() + aLoad.Seconds()/catalogue.WatchDefault.Seconds()) * 8 / 7
			t.Logf("a read of the rows takes %v, a look for a new catalogue %v: %.4f %% of a core", aPoll, aLoad, 100*share)
			require.Less(t, share, idleMax)
		})
	}
}

// productJobs returns the jobs of the product. None of them is due: the statement waits
// for the night, and the other jobs have already run.
func productJobs(t *testing.T, f *fleet) []job.Definition {
	t.Helper()
	var prizes []string
	for n := range 100 {
		prizes = append(prizes, fmt.Sprintf(`{"id":"prize-%d","description":"What one says of it"}`, n))
	}
	source := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"prizes":[%s]}`, strings.Join(prizes, ","))
	}))
	t.Cleanup(source.Close)
	s := f.stores[0]
	all := []job.Definition{job.Audit(s), job.Statement(s), catalogue.Job(s, source.URL, 6*time.Hour)}
	stop := start(t, f.options(0, all...))
	for _, name := range []string{job.AuditName, catalogue.JobName} {
		eventually(t, name, func() bool { return !f.row(name).LastSuccess.IsZero() })
	}
	stop()
	return all
}
