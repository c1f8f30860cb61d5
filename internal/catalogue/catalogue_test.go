package catalogue_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/catalogue"
	"drawsvc/internal/draw"
	"drawsvc/internal/job"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

const body = `{"prizes":[{"id":"gold","name":"Krugerrand","description":"An ounce","image":"/g.png","link":"https://example.com/g","more":1},{"id":"pin"}]}`

func TestParse(t *testing.T) {
	items, err := catalogue.Parse([]byte(body))
	require.NoError(t, err)
	require.Equal(t, map[string]catalogue.Item{
		"gold": {ID: "gold", Name: "Krugerrand", Description: "An ounce", Image: "/g.png", Link: "https://example.com/g"}, "pin": {ID: "pin"},
	}, items)
	for about, bad := range map[string]string{
		"not JSON":        `<html>`,
		"no prizes":       `{}`,
		"null":            `{"prizes":null}`,
		"a bad id":        `{"prizes":[{"id":"Gold"}]}`,
		"an id twice":     `{"prizes":[{"id":"a"},{"id":"a"}]}`,
		"a member twice":  `{"prizes":[{"id":"a","id":"b"}]}`,
		"prizes twice":    `{"prizes":[{"id":"a","name":"X"}],"prizes":[{"id":"b"}]}`,
		"a script":        `{"prizes":[{"id":"a","link":"javascript:alert(1)"}]}`,
		"a long name":     `{"prizes":[{"id":"a","name":"` + strings.Repeat("x", catalogue.TextMax+1) + `"}]}`,
		"a long link":     `{"prizes":[{"id":"a","link":"/` + strings.Repeat("x", catalogue.LinkMax) + `"}]}`,
		"not UTF-8":       "{\"prizes\":[{\"id\":\"a\",\"name\":\"\xff\"}]}",
		"cut off":         body[:len(body)-3],
		"more than it is": body + "x",
	} {
		_, err := catalogue.Parse([]byte(bad))
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), about)
	}
}

// fetching is a store with a source and the job that fetches from it.
type fetching struct {
	store *stock.Store
	job   job.Definition
	// address is the address of the source.
	address string
	source  atomic.Pointer[nethttp.HandlerFunc]
	asked   atomic.Int64
	// report is the report of the last run.
	report []byte
}

func newFetching(t *testing.T, dialect string) *fetching {
	t.Helper()
	f := &fetching{store: stocktest.New(t, dialect)}
	server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		f.asked.Add(1)
		(*f.source.Load())(w, r)
	}))
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	f.address = server.URL + "/secret-path"
	f.job = catalogue.Job(f.store, f.address, time.Hour)
	require.NoError(t, f.store.AddJobs(t.Context(), []job.Definition{f.job}))
	return f
}

func (f *fetching) answers(h nethttp.HandlerFunc) { f.source.Store(&h) }

// run runs the job once, as the runner does.
func (f *fetching) run(ctx context.Context, t *testing.T) error {
	t.Helper()
	_, err := f.store.WantJob(t.Context(), catalogue.JobName, "ann")
	require.NoError(t, err)
	run, begun, err := f.store.BeginJob(t.Context(), catalogue.JobName, "host")
	require.NoError(t, err)
	require.True(t, begun)
	f.report, err = f.job.Do(ctx, run)
	o := job.Outcome{Result: job.ResultOK}
	if err != nil {
		o = job.Outcome{Result: job.ResultFailed, Error: err.Error()}
	}
	require.NoError(t, f.store.FinishJob(t.Context(), run, o))
	return err
}

func sends(text string) nethttp.HandlerFunc {
	return func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("ETag", `"1"`)
		_, _ = io.WriteString(w, text)
	}
}

// TestFailedFetchChangesNothing: on every database, a source that misbehaves changes
// nothing, and the catalogue that was fetched before stays.
func TestFailedFetchChangesNothing(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			f := newFetching(t, dialect)
			memory := catalogue.NewMemory(f.store, slog.New(slog.DiscardHandler))
			require.NoError(t, memory.Load(t.Context()))
			require.Equal(t, catalogue.Item{}, memory.Items()["gold"])

			f.answers(sends(body))
			require.NoError(t, f.run(t.Context(), t))
			require.NoError(t, memory.Load(t.Context()))
			require.Equal(t, "Krugerrand", memory.Items()["gold"].Name)
			first, err := f.store.Catalogue(t.Context(), "")
			require.NoError(t, err)
			require.Equal(t, body, string(first.Body))
			const report = `{"changed":%t,"prizes":%d,"bytes":%d,"digest":"%s"}`
			require.JSONEq(t, fmt.Sprintf(report, true, len(memory.Items()), len(body), first.Digest), string(f.report))

			for about, h := range misbehaviour() {
				f.answers(h)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				err := f.run(ctx, t)
				cancel()
				require.Error(t, err, about)
				require.NotContains(t, err.Error(), "secret-path", about)
				after, err := f.store.Catalogue(t.Context(), "")
				require.NoError(t, err)
				require.Equal(t, first, after, about)
			}
			require.NoError(t, memory.Load(t.Context()))
			require.Equal(t, "Krugerrand", memory.Items()["gold"].Name)

			f.answers(func(w nethttp.ResponseWriter, r *nethttp.Request) {
				if r.Header.Get("If-None-Match") != `"1"` {
					w.WriteHeader(nethttp.StatusInternalServerError)
					return
				}
				w.WriteHeader(nethttp.StatusNotModified)
			})
			require.NoError(t, f.run(t.Context(), t))
			checked, err := f.store.Catalogue(t.Context(), first.Digest)
			require.NoError(t, err)
			require.Nil(t, checked.Body, "the caller has it")
			require.True(t, checked.CheckedAt.After(first.CheckedAt))
			require.Equal(t, first.FetchedAt, checked.FetchedAt)
			require.JSONEq(t, fmt.Sprintf(report, false, 0, 0, first.Digest), string(f.report))

			big := `{"prizes":[{"id":"pin","name":"New"}]}`
			big += strings.Repeat(" ", catalogue.BodyMax-len(big))
			f.answers(zipped(big))
			require.NoError(t, f.run(t.Context(), t))
			require.NoError(t, memory.Load(t.Context()))
			require.Equal(t, "New", memory.Items()["pin"].Name)
			require.Equal(t, catalogue.Item{}, memory.Items()["gold"])
		})
	}
}

// zipped compresses a text with gzip, as Go's client allows a source to do.
func zipped(text string) nethttp.HandlerFunc {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return func(w nethttp.ResponseWriter, _ *nethttp.Request) { sendZipped(w, packed.Bytes()) }
}

func sendZipped(w nethttp.ResponseWriter, packed []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	_, _ = w.Write(packed)
}

// misbehaviour returns the faults that a source may have.
func misbehaviour() map[string]nethttp.HandlerFunc {
	return map[string]nethttp.HandlerFunc{
		"500":     func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(nethttp.StatusInternalServerError) },
		"rubbish": sends(`{"prizes":[{"id":"gold"`),
		"no JSON": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, body)
		},
		"redirect": func(w nethttp.ResponseWriter, r *nethttp.Request) {
			nethttp.Redirect(w, r, "/elsewhere", nethttp.StatusFound)
		},
		"a part": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.WriteHeader(nethttp.StatusPartialContent)
		},
		"too much":           sends(body + strings.Repeat(" ", catalogue.BodyMax)),
		"more than it seems": zipped(body + strings.Repeat(" ", 4*catalogue.BodyMax)),
		"a flawed zip":       func(w nethttp.ResponseWriter, _ *nethttp.Request) { sendZipped(w, []byte("\x1f\x8b no zip")) },
		"a lie about its length": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			hijacked(w, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body)+10, body))
		},
		"broken off": func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			hijacked(w, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
		},
		"silence": func(_ nethttp.ResponseWriter, r *nethttp.Request) { <-r.Context().Done() },
		"drips": func(w nethttp.ResponseWriter, r *nethttp.Request) {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = nethttp.NewResponseController(w).Flush()
				time.Sleep(50 * time.Millisecond)
			}
		},
	}
}

// hijacked answers with the given bytes, and closes the connection.
func hijacked(w nethttp.ResponseWriter, text string) {
	conn, _, err := nethttp.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, text)
}

// TestLateFetchStoresNothing: a fetch that ends after another run has begun stores nothing.
func TestLateFetchStoresNothing(t *testing.T) {
	t.Parallel()
	f := newFetching(t, "sqlite")
	f.answers(sends(body))
	late, begun, err := f.store.BeginJob(t.Context(), catalogue.JobName, "host")
	require.NoError(t, err)
	require.True(t, begun)
	require.NoError(t, f.store.FinishJob(t.Context(), late, job.Outcome{Result: job.ResultLost}))
	_, err = f.job.Do(t.Context(), late)
	require.ErrorIs(t, err, job.ErrLost)
	stored, err := f.store.Catalogue(t.Context(), "")
	require.NoError(t, err)
	require.Nil(t, stored)
}

// TestWatchLearnsOfANewCatalogue: an instance that did not fetch gets the new
// catalogue, and keeps the old one while the database is unreachable.
func TestWatchLearnsOfANewCatalogue(t *testing.T) {
	t.Parallel()
	f := newFetching(t, "sqlite")
	memory := catalogue.NewMemory(f.store, slog.New(slog.DiscardHandler))
	go memory.Watch(t.Context(), 20*time.Millisecond)
	f.answers(sends(body))
	require.NoError(t, f.run(t.Context(), t))
	require.Eventually(t, func() bool { return memory.Items()["gold"].Name == "Krugerrand" }, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, f.store.Close())
	time.Sleep(60 * time.Millisecond)
	require.Equal(t, "Krugerrand", memory.Items()["gold"].Name)
	require.WithinDuration(t, time.Now(), memory.CheckedAt(), time.Minute)
}

func TestCheckURL(t *testing.T) {
	for _, good := range []string{"http://127.0.0.1:9/c.json", "https://user:pass@example.com/c"} {
		require.NoError(t, catalogue.CheckURL(good))
	}
	for _, bad := range []string{"", "file:///etc/passwd", "ftp://example.com", "https://", "example.com/c", "https://a b/"} {
		require.Error(t, catalogue.CheckURL(bad), bad)
	}
}

// TestScheduleIsWrittenAsPeopleDo: a schedule has the short form that people write, such
// as "every 6h", and the job's row accepts it.
func TestScheduleIsWrittenAsPeopleDo(t *testing.T) {
	t.Parallel()
	for every, want := range map[time.Duration]string{6 * time.Hour: "every 6h", 90 * time.Minute: "every 1h30m", 30 * time.Second: "every 30s"} {
		got := catalogue.Job(nil, "http://127.0.0.1:1/", every).Schedule
		require.Equal(t, want, got)
		_, err := job.Parse(got)
		require.NoError(t, err)
	}
}
