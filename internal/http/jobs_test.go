package http

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/access"
	"drawsvc/internal/catalogue"
	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

func someJob(name string) job.Row {
	return job.Row{
		Name: name, Enabled: true, Schedule: "every 15m", Per: job.PerRun, StaleAfter: 30 * time.Minute,
		Status: job.StatusIdle, DueAt: at, ChangedAt: at, Token: 3, Holder: "web-1",
	}
}

func (f fakeStore) Jobs(context.Context) ([]job.Row, time.Time, error) {
	return []job.Row{someJob("audit")}, at.Add(90 * time.Second), f.note("jobs")
}

func (f fakeStore) Job(_ context.Context, name string) (job.Row, time.Time, error) {
	r := someJob(name)
	r.Report = []byte(`{"ok":false,"pools":2,"violations":1,"broken":[{"pool":"p","version":9,"violations":1,"first":"gap: 8 is missing"}],"days":1,"expired":3,"returned":2,"changed":true,"prizes":2,"bytes":112,"digest":"bce7"}`)
	if name == "new" {
		r.Report = []byte{} // as the database returns it
	}
	return r, at, f.note("job " + name)
}

func (f fakeStore) JobRuns(_ context.Context, name string, after int64, limit int) ([]job.Past, error) {
	var all []job.Past
	for n := after + 1; n <= min(after+int64(limit), 3); n++ {
		p := job.Past{Run: job.Run{Job: name, Token: n, Host: "web-1", Began: at}}
		if n < 3 {
			p.Finished, p.Result = at.Add(time.Second), job.ResultOK
		}
		all = append(all, p)
	}
	return all, f.note([]any{name, after, limit})
}

func (f fakeStore) ChangeJob(_ context.Context, name string, c job.Change, actor string) (job.Row, error) {
	return someJob(name), f.note([]any{name, c, actor})
}

func (f fakeStore) WantJob(_ context.Context, name, actor string) (job.Row, error) {
	return someJob(name), f.note([]any{name, actor})
}

func (f fakeStore) Statements(_ context.Context, poolID, after string, limit int) (lines []job.Line, next string, err error) {
	for _, day := range []string{"2026-03-01", "2026-03-02", "2026-03-03"} {
		if day > after {
			lines = append(lines, job.Line{Pool: poolID, Day: day, Prize: "gold", Issued: 2, Remaining: 8, Value: decimal.RequireFromString("39.8"), ToVersion: 9})
			lines = append(lines, job.Line{Pool: poolID, Day: day, Prize: "pin", Remaining: 5, ToVersion: 9})
		}
	}
	if 2*limit < len(lines) {
		lines, next = lines[:2*limit], lines[2*limit-1].Day
	}
	return lines, next, f.note([]any{poolID, after, limit})
}

func TestJobs(t *testing.T) {
	f := &fake{}
	woken := 0
	s := newServer(t, f, func(c *Config) { c.WakeJobs = func() { woken++ } })
	w := do(s, asAdmin("GET", "/admin/jobs", ""))
	require.Equal(t, 200, w.Code)
	require.Contains(t, w.Body.String(), `{"jobs":[{"name":"audit","enabled":true,"schedule":"every 15m","per":"run","host":null,"status":"idle","holder":"web-1"`)
	require.Contains(t, w.Body.String(), `"overdue_seconds":90,"requested":false,"last_success":null`)
	require.NotContains(t, w.Body.String(), "report")

	w = do(s, asAdmin("GET", "/admin/jobs/audit", ""))
	require.Contains(t, w.Body.String(), `"stale_after":"30m"`)
	require.Contains(t, w.Body.String(), `"report":{"ok":false,"pools":2,`)

	w = do(s, asAdmin("GET", "/admin/jobs/new", ""))
	require.Equal(t, 200, w.Code, w.Body)
	require.NotContains(t, w.Body.String(), "report")

	w = do(s, asAdmin("POST", "/admin/jobs/audit/run", ""))
	require.Equal(t, 202, w.Code, w.Body)
	require.Equal(t, 1, woken)
	require.Equal(t, 202, do(s, asAdmin("POST", "/admin/jobs/audit/run", "{}")).Code)
	chunked := asAdmin("POST", "/admin/jobs/audit/run", "", "Content-Type", "application/json")
	chunked.ContentLength = -1
	require.Equal(t, 202, do(s, chunked).Code)
	require.Equal(t, 400, do(s, asAdmin("POST", "/admin/jobs/audit/run", `{"now":true}`)).Code)

	w = do(s, asAdmin("GET", "/admin/jobs/audit/runs?after=0&limit=2", ""))
	require.Contains(t, w.Body.String(), `"result":"ok","error":null,"error_code":null,"asked_by":null}],"next":2}`)
	w = do(s, asAdmin("GET", "/admin/jobs/audit/runs?after=2", ""))
	require.Contains(t, w.Body.String(), `"finished_at":null,"result":null`)
	require.Contains(t, w.Body.String(), `"next":null}`)

	f.err = job.ErrRunning("audit")
	w = do(s, asAdmin("POST", "/admin/jobs/audit/run", ""))
	require.Equal(t, 409, w.Code)
	require.Contains(t, w.Body.String(), `"code":"job-running"`)
	f.err = job.ErrNotFound("nope")
	w = do(s, asAdmin("GET", "/admin/jobs/nope", ""))
	require.Equal(t, 404, w.Code)
	require.Contains(t, w.Body.String(), `"code":"job-not-found"`)
}

// failedJobs are jobs whose last run failed with the database's own text.
type failedJobs struct{ fakeStore }

const databaseError = `store-unavailable: relation "prizes" does not exist (SQLSTATE 42P01)`

func failed(r job.Row) job.Row {
	r.LastError = databaseError
	return r
}

func (f failedJobs) Jobs(ctx context.Context) ([]job.Row, time.Time, error) {
	rows, now, err := f.fakeStore.Jobs(ctx)
	return []job.Row{failed(rows[0])}, now, err
}

func (f failedJobs) Job(ctx context.Context, name string) (job.Row, time.Time, error) {
	r, now, err := f.fakeStore.Job(ctx, name)
	return failed(r), now, err
}

func (f failedJobs) JobRuns(_ context.Context, name string, _ int64, _ int) ([]job.Past, error) {
	return []job.Past{{Run: job.Run{Job: name, Token: 1, Host: "web-1", Began: at}, Finished: at, Result: job.ResultFailed, Error: databaseError}}, nil
}

// TestOnlyAdminsReadErrorsOfJobs: other roles read that a run failed, but not the
// database's text. As a control, the same calls show the text to an admin.
func TestOnlyAdminsReadErrorsOfJobs(t *testing.T) {
	f := &fake{}
	s := newServer(t, f, func(c *Config) {
		c.Store = failedJobs{fakeStore{f}}
		c.Tokens = keep(tokenOf("root", access.Admin), tokenOf("eve", access.Auditor), tokenOf("shop", access.Stock))
	})
	for _, path := range []string{"/admin/jobs", "/admin/jobs/audit", "/admin/jobs/audit/runs"} {
		for token, shows := range map[string]bool{"root-admin": true, "eve-auditor": false, "shop-stock": false} {
			w := do(s, request("GET", path, "", "Authorization", "Bearer "+token))
			require.Equal(t, 200, w.Code, w.Body)
			require.Equal(t, shows, strings.Contains(w.Body.String(), "SQLSTATE"), "%s %s: %s", token, path, w.Body)
			require.Equal(t, !shows, strings.Contains(w.Body.String(), hiddenError), "%s %s: %s", token, path, w.Body)
			require.Contains(t, w.Body.String(), `error_code":"store-unavailable"`, "every role reads the code")
		}
	}
}

func TestChangeJob(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	for body, want := range map[string]job.Change{
		`{"enabled":false}`:                          {Enabled: new(false)},
		`{"schedule":"every 6h","stale_after":"1m"}`: {Schedule: new("every 6h"), StaleAfter: new(time.Minute)},
		`{"host":"web-2"}`:                           {Host: new("web-2")},
		`{"host":null}`:                              {Host: new("")},
	} {
		require.Equal(t, 200, do(s, asAdmin("PATCH", "/admin/jobs/audit", body)).Code, body)
		require.Contains(t, f.asked, []any{"audit", want, "admin"}, body)
	}
	for _, bad := range []string{
		`{"schedule":"sometimes"}`, `{"schedule":null}`, `{"host":""}`, `{"host":"a b"}`, `{"stale_after":"soon"}`, `{"stale_after":5}`, `{"per":"day"}`,
		`{}`, `{"enabled":null}`,
	} {
		w := do(s, asAdmin("PATCH", "/admin/jobs/audit", bad))
		require.Equal(t, 400, w.Code, "%s: %s", bad, w.Body)
	}
}

func TestStatements(t *testing.T) {
	s := newServer(t, &fake{})
	w := do(s, asAdmin("GET", "/admin/pools/p/statements?limit=1", ""))
	require.Equal(t, `{"statements":[{"day":"2026-03-01","prize":"gold","issued":2,"remaining":8,"value":"39.80","to_version":9},`+
		`{"day":"2026-03-01","prize":"pin","issued":0,"remaining":5,"value":"0.00","to_version":9}],"next":"2026-03-01"}`+"\n", w.Body.String())
	w = do(s, asAdmin("GET", "/admin/pools/p/statements?after=2026-03-01&limit=2", ""))
	require.Contains(t, w.Body.String(), `"next":null}`)
	w = do(s, asAdmin("GET", "/admin/pools/p/statements?after=2026-03-02", "", "Accept", "text/csv"))
	require.Equal(t, "day,prize,issued,remaining,value,to_version\n2026-03-03,gold,2,8,39.80,9\n2026-03-03,pin,0,5,0.00,9\n", w.Body.String())
	require.Equal(t, 400, do(s, asAdmin("GET", "/admin/pools/p/statements?after=yesterday", "")).Code)
}

// TestCatalogueInPools: the texts of the catalogue are shown where callers read, and
// nowhere else.
func TestCatalogueInPools(t *testing.T) {
	s := newServer(t, &fake{}, func(c *Config) {
		c.Catalogue = func() map[string]catalogue.Item {
			return map[string]catalogue.Item{"gold": {ID: "gold", Name: "Krugerrand", Description: "An ounce", Image: "/gold.png", Link: "https://example.com/gold"}}
		}
	})
	w := do(s, request("GET", "/pools/p", ""))
	require.Contains(t, w.Body.String(), `{"id":"gold","name":"Krugerrand","value":"19.90","kind":"prize","description":"An ounce","image":"/gold.png","link":"https://example.com/gold"}`)
	require.Contains(t, w.Body.String(), `{"id":"pin","name":"Pin","value":"0.00","kind":"prize"}`)
	require.NotContains(t, do(s, asAdmin("GET", "/admin/pools/p", "")).Body.String(), "Krugerrand")

	shown := newServer(t, &fake{}, func(c *Config) {
		c.Catalogue, c.Store = s.Catalogue, displayed{c.Store}
	})
	w = do(shown, request("GET", "/pools/p", ""))
	require.Contains(t, w.Body.String(), `{"id":"gold","name":"Dukat","value":"19.90","kind":"prize","description":"An ounce","image":"https://example.com/dukat","link":"https://example.com/gold"}`,
		"what the operator set wins, member by member")
	require.Contains(t, do(shown, asAdmin("GET", "/admin/pools/p", "")).Body.String(), `"name":"Gold coin",`, "the prize's own name stays")
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(catalogue.CheckURL("ftp://example.com")))
}

// displayed is a store with display texts that replace some texts of a prize.
type displayed struct{ Store }

func (d displayed) Pool(ctx context.Context, id string) (draw.Pool, error) {
	p, err := d.Store.Pool(ctx, id)
	p.Prizes[0].Display = &draw.Display{Name: "Dukat", Picture: "https://example.com/dukat"}
	return p, err
}

// storedCatalogue is a database for a catalogue.Memory, which loads this catalogue from
// it.
type storedCatalogue catalogue.Stored

func (s storedCatalogue) Catalogue(context.Context, string) (*catalogue.Stored, error) {
	return (*catalogue.Stored)(&s), nil
}

// TestNoRequestAsksTheSource: the texts of the catalogue come from memory. A service
// that fetches them while a request waits would fail the test.
func TestNoRequestAsksTheSource(t *testing.T) {
	const body = `{"prizes":[{"id":"gold","name":"Krugerrand"}]}`
	var asked atomic.Int64
	source := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, body)
	}))
	defer source.Close()
	sum := sha256.Sum256([]byte(body))
	memory := catalogue.NewMemory(storedCatalogue{Source: source.URL, Body: []byte(body), Digest: hex.EncodeToString(sum[:])}, slog.New(slog.DiscardHandler))
	require.NoError(t, memory.Load(t.Context()))
	fetching := func() map[string]catalogue.Item {
		ask, err := nethttp.NewRequestWithContext(t.Context(), nethttp.MethodGet, source.URL, nethttp.NoBody)
		require.NoError(t, err)
		response, err := source.Client().Do(ask)
		require.NoError(t, err)
		defer response.Body.Close()
		fetched, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		items, err := catalogue.Parse(fetched)
		require.NoError(t, err)
		return items
	}
	for about, test := range map[string]struct {
		items    func() map[string]catalogue.Item
		isCaught bool
	}{"memory": {memory.Items, false}, "the double that fetches": {fetching, true}} {
		asked.Store(0)
		s := newServer(t, &fake{}, func(c *Config) { c.Catalogue = test.items })
		require.Contains(t, do(s, request("GET", "/pools/p", "")).Body.String(), "Krugerrand", about)
		require.Equal(t, test.isCaught, asked.Load() > 0, about)
	}
}

// TestOneCatalogueInAnAnswer: if a new catalogue arrives while an answer is made, the
// answer uses it for all prizes or for none.
func TestOneCatalogueInAnAnswer(t *testing.T) {
	contents := 0
	s := newServer(t, &fake{}, func(c *Config) {
		c.Catalogue = func() map[string]catalogue.Item {
			contents++
			now := catalogue.Item{Description: fmt.Sprint("content ", contents)}
			return map[string]catalogue.Item{"gold": now, "pin": now}
		}
	})
	require.Equal(t, 2, strings.Count(do(s, request("GET", "/pools/p", "")).Body.String(), `"description":"content 1"`))
}

// unreadJobs are jobs that can be changed, but not read afterwards.
type unreadJobs struct{ fakeStore }

func (unreadJobs) Job(context.Context, string) (job.Row, time.Time, error) {
	return job.Row{}, at, draw.Errorf(draw.CodeStoreUnavailable, "the database does not answer; nothing happened")
}

// TestJobIsChangedAndNotRead: if a job was changed but could not be read afterwards,
// the answer does not state that nothing happened.
func TestJobIsChangedAndNotRead(t *testing.T) {
	f := &fake{}
	s := newServer(t, f, func(c *Config) { c.Store = unreadJobs{fakeStore{f}} })
	for _, r := range []*nethttp.Request{asAdmin("PATCH", "/admin/jobs/audit", `{"enabled":false}`), asAdmin("POST", "/admin/jobs/audit/run", "")} {
		w := do(s, r)
		require.Equal(t, 504, w.Code, w.Body)
		require.Contains(t, w.Body.String(), `"code":"outcome-unknown"`)
		require.NotContains(t, w.Body.String(), "nothing happened")
	}
	require.Equal(t, 503, do(s, asAdmin("GET", "/admin/jobs/audit", "")).Code)
}
