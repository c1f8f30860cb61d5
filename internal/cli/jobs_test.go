package cli

import (
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// TestNobodyWaitsForTheCatalogue: while the source is slow, instances serve the stored
// catalogue, even directly after a cold start. One of them fetches.
func TestNobodyWaitsForTheCatalogue(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var slow atomic.Bool
	source := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		asked.Add(1)
		if slow.Load() {
			<-r.Context().Done() // longer than any request
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"prizes":[{"id":"gold","description":"An ounce of it"}]}`)
	}))
	t.Cleanup(source.Close)
	url := stocktest.Migrated(t, "postgres")
	spring(t, url)
	p := on(t, url)
	flags := []string{"--catalogue-url", source.URL, "--admin-token", "an-admin-token"}
	var fleet []*service
	for n := range 3 {
		fleet = append(fleet, p.serve(append(flags, "--host-name", fmt.Sprint("web-", n))...))
	}
	for _, s := range fleet {
		require.Eventually(t, func() bool {
			_, body, err := s.ask("GET", "/pools/spring", "")
			return err == nil && strings.Contains(body, "An ounce of it")
		}, commandMax, 50*time.Millisecond)
	}
	require.EqualValues(t, 1, asked.Load(), "one fetch for the fleet")
	list := p.ok("job", "list")
	for _, name := range []string{"audit", "statement", "catalogue"} {
		require.Contains(t, list, name)
	}
	for _, s := range fleet {
		require.Equal(t, exitOK, s.end().code)
	}

	slow.Store(true)
	cold := p.serve(flags...)
	cold.token = "an-admin-token"
	_, body, err := cold.ask("GET", "/pools/spring", "")
	require.NoError(t, err)
	require.Contains(t, body, "An ounce of it")
	require.Contains(t, p.ok("job", "run", "catalogue", "--actor", "ann"), "requested")
	require.Eventually(t, func() bool { return asked.Load() > 1 }, commandMax, 50*time.Millisecond)
	begun := time.Now()
	_, body, err = cold.ask("GET", "/pools/spring", "")
	require.NoError(t, err)
	require.Contains(t, body, "An ounce of it")
	require.Less(t, time.Since(begun), 20*time.Second, "the source has not answered yet")
	require.Contains(t, p.ok("job", "show", "catalogue"), "running")
	metrics, err := cold.metrics()
	require.NoError(t, err)
	require.Contains(t, metrics, `drawsvc_job_last_success_timestamp_seconds{job="catalogue"}`)
	require.NotContains(t, metrics, "drawsvc_catalogue_age_seconds 0\n")
	require.Equal(t, exitOK, cold.end().code, "a fetch under way keeps no shutdown waiting")
	require.Contains(t, p.ok("job", "history", "catalogue", "--output", "json"), `"result":"lost"`)
}

// TestJobCommands: on the database, commands switch and pin a job, and record their
// actor.
func TestJobCommands(t *testing.T) {
	t.Parallel()
	url := stocktest.Migrated(t, "mysql")
	spring(t, url)
	p := on(t, url)
	require.NotContains(t, p.ok("job", "list"), "audit", "no instance has served yet")
	s := p.serve("--admin-token", "an-admin-token")
	require.Contains(t, p.ok("job", "disable", "audit", "--actor", "ann"), "job audit is off")
	require.Contains(t, p.ok("job", "pin", "statement", "web-7"), "job statement is pinned")
	require.Contains(t, p.ok("job", "show", "audit", "--output", "json"), `"enabled":false`)
	require.Contains(t, p.ok("job", "show", "audit", "--output", "json"), `"changed_by":"ann"`)
	require.Contains(t, p.ok("job", "show", "statement"), "web-7")
	require.Contains(t, p.ok("job", "show", "statement", "--output", "json"), `"changed_by":"cli:`)
	require.Contains(t, p.ok("job", "unpin", "statement"), "job statement is not pinned")
	require.Contains(t, p.ok("job", "run", "audit"), "requested")
	require.Eventually(t, func() bool { return strings.Contains(p.ok("job", "history", "audit"), "ok") }, commandMax, 100*time.Millisecond)
	require.Contains(t, p.ok("job", "show", "audit"), `"pools":1`)
	for _, bad := range [][]string{{"job", "show", "nope"}, {"job", "pin", "audit", "a b"}, {"job", "run", "audit", "--actor", ""}, {"job", "show"}} {
		require.NotEqual(t, exitOK, p.run(bad...).code, bad)
	}
	require.Equal(t, exitOK, s.end().code)
}

// TestCatalogueFromAnotherAddress: a service fetches the catalogue at its start only if
// --catalogue-url has changed.
func TestCatalogueFromAnotherAddress(t *testing.T) {
	t.Parallel()
	var asked [2]atomic.Int64
	var sources []string
	for n := range asked {
		source := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			asked[n].Add(1)
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"prizes":[{"id":"gold","description":"From source %d"}]}`, n)
		}))
		t.Cleanup(source.Close)
		sources = append(sources, source.URL)
	}
	url := stocktest.Migrated(t, "sqlite")
	spring(t, url)
	p := on(t, url)
	for _, n := range []int{0, 0, 1} {
		s := p.serve("--catalogue-url", sources[n], "--admin-token", "an-admin-token")
		require.Eventually(t, func() bool {
			_, body, err := s.ask("GET", "/pools/spring", "")
			return err == nil && strings.Contains(body, fmt.Sprint("From source ", n))
		}, commandMax, 50*time.Millisecond)
		require.Equal(t, exitOK, s.end().code)
	}
	require.EqualValues(t, 1, asked[0].Load(), "a start with the same address finds what is stored")
	require.EqualValues(t, 1, asked[1].Load())

	p.ok("job", "disable", "catalogue")
	s := p.serve("--catalogue-url", sources[0], "--admin-token", "an-admin-token")
	_, off, err := s.ask("GET", "/admin/jobs/catalogue", "", "Authorization", "Bearer an-admin-token")
	require.NoError(t, err)
	require.Contains(t, off, `"enabled":false`)
	require.Contains(t, off, `"requested":false`)
	require.Equal(t, exitOK, s.end().code)
	require.EqualValues(t, 1, asked[0].Load(), "a job that is off is not asked for")
}
