package harness_test

import (
	"context"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/harness"
)

// shell starts a script, which must create the file $1 when it is running.
func shell(t *testing.T, script string) *harness.Process {
	t.Helper()
	path, err := exec.LookPath("sh")
	require.NoError(t, err)
	up := filepath.Join(t.TempDir(), "up")
	p, err := harness.Start(nil, []string{"MARK=kept"}, path, "-c", script, "sh", up)
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	require.Eventually(t, func() bool { _, err := os.Stat(up); return err == nil }, 30*time.Second, 10*time.Millisecond)
	return p
}

// TestStopWantsAGoodEnd: the program must exit on SIGTERM, not before it, and with code
// 0.
func TestStopWantsAGoodEnd(t *testing.T) {
	t.Parallel()
	const waits = `; echo $MARK $DRAWSVC_ADMIN_TOKEN; touch "$1"; while :; do sleep 0.01; done`
	good := shell(t, `trap "exit 0" TERM`+waits)
	require.NoError(t, good.Stop())
	assert.Contains(t, good.Output.String(), "kept "+harness.AdminToken)
	assert.ErrorContains(t, shell(t, `trap "exit 3" TERM`+waits).Stop(), "exit status 3")
	assert.ErrorContains(t, shell(t, `:`+waits).Stop(), "terminated", "a program that SIGTERM itself ends")
	early := shell(t, `touch "$1"; exit 0`)
	require.NoError(t, early.AwaitEnd())
	assert.ErrorContains(t, early.Stop(), "it had ended by itself")
}

// TestReadyIsAskedOfTheProgram: a program that has ended is not waited for.
func TestReadyIsAskedOfTheProgram(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || r.Header.Get("Authorization") != "Bearer "+harness.AdminToken {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(service.Close)
	p := shell(t, `touch "$1"; exec sleep 60`)
	p.URL = service.URL
	require.NoError(t, p.AwaitReady(t.Context()))
	ended := shell(t, `touch "$1"; exit 4`)
	ended.URL = service.URL + "/nowhere"
	assert.ErrorContains(t, ended.AwaitReady(t.Context()), "ended at once: exit status 4")
}

// TestOperateNamesTheStatus: the error names the status and not the port, which could be
// mistaken for a status.
func TestOperateNamesTheStatus(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte("sold out"))
	}))
	t.Cleanup(service.Close)
	_, err := harness.Operate(t.Context(), http.MethodPost, service.URL+"/admin/pools", "{}", http.StatusCreated)
	require.EqualError(t, err, "POST /admin/pools: 409 sold out")
	_, err = harness.Operate(t.Context(), http.MethodPost, service.URL+"/admin/pools", "{}", http.StatusConflict)
	require.NoError(t, err)
}

// TestMetricsAreReadByTheirNames: a line that cannot be read is left out.
func TestMetricsAreReadByTheirNames(t *testing.T) {
	t.Parallel()
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("# HELP a_count x\na_count 12\na_count_more 1\nb{x=\"y\"} 3\nc 1.5e+06\n"))
	}))
	t.Cleanup(service.Close)
	found, err := harness.Metrics(t.Context(), service.URL)
	require.NoError(t, err)
	assert.InDelta(t, 12, found["a_count"], 0)
	assert.InDelta(t, 1.5e6, found["c"], 0)
	assert.Zero(t, found["b"])
}

// TestASiteCleansUpAndSaysWhy: a site cleans up in reverse order, whatever ends it.
func TestASiteCleansUpAndSaysWhy(t *testing.T) {
	t.Parallel()
	var folder string
	var order []int
	var ctx context.Context
	err := harness.On("site", func(s *harness.Site) error {
		folder, ctx = s.TempDir(), s.Context()
		for n := range 2 {
			s.Cleanup(func() { order = append(order, n) })
		}
		require.NoError(t, ctx.Err())
		s.Skip("not installed")
		return nil
	})
	missing, ok := errors.AsType[harness.Skipped](err)
	require.True(t, ok)
	assert.Equal(t, "not installed", missing.Reason)
	assert.Equal(t, []int{1, 0}, order)
	assert.NoDirExists(t, folder)
	assert.Error(t, ctx.Err())
	err = harness.On("site", func(s *harness.Site) error { require.Equal(s, 1, 2); return nil })
	assert.ErrorContains(t, err, "Not equal")
	fails := func(s *harness.Site) error { s.Fatalf("no %s", "luck"); return nil }
	assert.Equal(t, harness.Failed{Reason: "no luck"}, harness.On("site", fails))
	broken := errors.New("broken")
	assert.Equal(t, harness.Failed{Reason: "broken"}, harness.On("site", func(s *harness.Site) error {
		s.Must(nil)
		s.Must(broken)
		return nil
	}))
	for reason, fn := range map[string]func(s *harness.Site) error{
		"not installed": func(s *harness.Site) error { s.Skip("not installed"); return nil },
		"":              func(*harness.Site) error { return broken },
	} {
		skipped, err := harness.Try("site", fn)
		assert.Equal(t, reason, skipped)
		assert.Equal(t, reason == "", errors.Is(err, broken))
	}
}

// TestAPartHasItsOwnFolder: only the results of a whole run are published.
func TestAPartHasItsOwnFolder(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		args   []string
		merged bool
	}{
		"results": {}, "results/part": {args: []string{"-only", "x"}}, "elsewhere": {args: []string{"-quick", "-results", "elsewhere"}},
	} {
		var s harness.Selection
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		s.Flags(flags, "few", "results")
		require.NoError(t, flags.Parse(c.args))
		s.Settle("results", c.merged)
		assert.Equal(t, want, s.Results)
		if want == "results/part" {
			s.Results = ""
			s.Settle("results", true)
			assert.Equal(t, "results", s.Results, "a part that is merged into the whole")
		}
	}
}
