package catalogue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	nethttp "net/http"
	"net/url"
	"strings"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

// FetchMax is the maximum time of a fetch.
const FetchMax = 2 * time.Minute

// retryAfter is the time after which a failed fetch is repeated.
const retryAfter = 5 * time.Minute

// JobName is the name of the job that fetches the catalogue.
const JobName = "catalogue"

// Saver reads and writes the catalogue in the database. Only the current run can write.
type Saver interface {
	// Catalogue returns the stored catalogue, nil for none. If its digest is the
	// caller's, Body is left out.
	Catalogue(ctx context.Context, digest string) (*Stored, error)
	// SaveCatalogue stores c with the database's time as FetchedAt and CheckedAt; a nil
	// Body means that the stored one is still current.
	SaveCatalogue(ctx context.Context, run job.Run, c Stored) error
}

// CheckURL returns CodeInvalidRequest unless the URL can be a source: an http or https
// address with a host.
func CheckURL(source string) error {
	u, err := url.Parse(source)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(source) > LinkMax {
		return draw.Errorf(draw.CodeInvalidRequest, "the catalogue's URL must be an http or https address")
	}
	return nil
}

// Job returns the job that fetches the catalogue from source at an interval. It is due
// at once if it has never run. A failed run is repeated after 5 minutes.
func Job(store Saver, source string, interval time.Duration) job.Definition {
	f := &fetcher{store: store, source: source, client: newClient()}
	return job.Definition{
		Name: JobName, Schedule: "every " + job.FormatDuration(interval), Per: job.PerRun, Max: FetchMax + 10*time.Second, Retry: retryAfter,
		Do: f.run,
	}
}

// newClient returns a client that follows no redirects, because the operator has named
// the address. It keeps no connections, because fetches are hours apart.
func newClient() *nethttp.Client {
	return &nethttp.Client{
		Transport:     &nethttp.Transport{Proxy: nethttp.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse },
	}
}

type fetcher struct {
	store  Saver
	source string
	client *nethttp.Client
}

func (f *fetcher) run(ctx context.Context, run job.Run) ([]byte, error) {
	before, err := f.store.Catalogue(ctx, "")
	if err != nil {
		return nil, err
	}
	if before != nil {
		if _, err := before.items(); err != nil || !before.IsFrom(f.source) {
			before = nil // the stored body is unusable, or its ETag is from another server
		}
	}
	got, err := f.fetch(ctx, before)
	if err != nil {
		return nil, &draw.Error{Code: job.CodeSource, Detail: err.Error()}
	}
	got.Source = digest([]byte(f.source))
	prizes := -1
	if got.Body != nil {
		items, err := Parse(got.Body)
		if err != nil {
			return nil, &draw.Error{Code: job.CodeSource, Detail: draw.DetailOf(err)}
		}
		prizes = len(items)
	}
	if err := f.store.SaveCatalogue(ctx, run, got); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"changed":%t,"prizes":%d,"bytes":%d,"digest":%q}`, got.Body != nil, max(prizes, 0), len(got.Body), got.Digest), nil
}

// fetch asks the source once. A nil Body means that the stored catalogue is still
// current.
func (f *fetcher) fetch(ctx context.Context, before *Stored) (Stored, error) {
	ctx, cancel := context.WithTimeout(ctx, FetchMax)
	defer cancel()
	request, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodGet, f.source, nil)
	if err != nil {
		return Stored{}, errors.New("the catalogue's URL cannot be read")
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "drawsvc")
	if before != nil {
		setUnlessEmpty(request.Header, "If-None-Match", before.ETag)
		setUnlessEmpty(request.Header, "If-Modified-Since", before.LastModified)
	}
	response, err := f.client.Do(request)
	if err != nil {
		return Stored{}, fmt.Errorf("the catalogue's source did not answer: %w", withoutURL(err))
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	switch {
	case response.StatusCode == nethttp.StatusNotModified && isConditional(request.Header):
		return Stored{Digest: before.Digest}, nil
	case response.StatusCode != nethttp.StatusOK:
		return Stored{}, fmt.Errorf("the catalogue's source answered %d", response.StatusCode)
	case !isJSON(response.Header.Get("Content-Type")):
		return Stored{}, errors.New("the catalogue's source did not answer with JSON")
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, BodyMax+1))
	if err != nil {
		return Stored{}, fmt.Errorf("the catalogue's source broke off: %w", withoutURL(err))
	}
	if len(body) > BodyMax {
		return Stored{}, fmt.Errorf("the catalogue has more than %d bytes", BodyMax)
	}
	got := Stored{Body: body, Digest: digest(body), ETag: response.Header.Get("ETag"), LastModified: response.Header.Get("Last-Modified")}
	if len(got.ETag) > 256 {
		got.ETag = ""
	}
	if len(got.LastModified) > 64 {
		got.LastModified = ""
	}
	return got, nil
}

// isConditional reports whether a request names the stored version, so that the source
// may answer with 304.
func isConditional(h nethttp.Header) bool {
	return h.Get("If-None-Match") != "" || h.Get("If-Modified-Since") != ""
}

func setUnlessEmpty(h nethttp.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// withoutURL removes the address from an error: it may contain a secret.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
