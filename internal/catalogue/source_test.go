package catalogue_test

import (
	"io"
	"log/slog"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/catalogue"
	"drawsvc/internal/stock/stocktest"
)

// TestUnaskedNotModified: if a request names no stored version, the answer "not modified"
// is an error, and does not confirm the catalogue.
func TestUnaskedNotModified(t *testing.T) {
	t.Parallel()
	f := newFetching(t, "sqlite")
	f.answers(func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(nethttp.StatusNotModified) })
	require.Error(t, f.run(t.Context(), t), "there is nothing stored")
	f.answers(func(w nethttp.ResponseWriter, _ *nethttp.Request) { // without an ETag
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	})
	require.NoError(t, f.run(t.Context(), t))
	before, err := f.store.Catalogue(t.Context(), "")
	require.NoError(t, err)
	f.answers(func(w nethttp.ResponseWriter, _ *nethttp.Request) { w.WriteHeader(nethttp.StatusNotModified) })
	require.Error(t, f.run(t.Context(), t))
	after, err := f.store.Catalogue(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// TestNewETag: if the same catalogue comes with another ETag, the next request uses the
// new ETag.
func TestNewETag(t *testing.T) {
	t.Parallel()
	f := newFetching(t, "sqlite")
	f.answers(sends(body))
	require.NoError(t, f.run(t.Context(), t))
	f.answers(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("ETag", `"2"`)
		w.Header().Set("Last-Modified", "Mon, 02 Mar 2026 10:00:00 GMT")
		_, _ = io.WriteString(w, body)
	})
	require.NoError(t, f.run(t.Context(), t))
	f.answers(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Header.Get("If-None-Match") == `"2"` && r.Header.Get("If-Modified-Since") == "Mon, 02 Mar 2026 10:00:00 GMT" {
			w.WriteHeader(nethttp.StatusNotModified)
		}
	})
	require.NoError(t, f.run(t.Context(), t))
}

// TestDamagedCatalogue: a stored catalogue that differs from the fetched one is not
// served, and is fetched again completely.
func TestDamagedCatalogue(t *testing.T) {
	t.Parallel()
	f := newFetching(t, "sqlite")
	f.answers(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(nethttp.StatusNotModified)
			return
		}
		sends(body)(w, r)
	})
	require.NoError(t, f.run(t.Context(), t))
	stocktest.ExecAll(t, f.store, []string{`UPDATE catalogue SET body = CAST(replace(CAST(body AS TEXT), 'Krugerrand', 'Blank') AS BLOB)`})
	memory := catalogue.NewMemory(f.store, slog.New(slog.DiscardHandler))
	require.ErrorContains(t, memory.Load(t.Context()), "is not the one that was fetched")
	require.Equal(t, catalogue.Item{}, memory.Items()["gold"])
	require.NoError(t, f.run(t.Context(), t))
	require.NoError(t, memory.Load(t.Context()))
	require.Equal(t, "Krugerrand", memory.Items()["gold"].Name)
}

// TestSourcePasswordStaysOutOfErrors: the address is used as the operator gave it, with
// its name and password, and no error contains them.
func TestSourcePasswordStaysOutOfErrors(t *testing.T) {
	t.Parallel()
	f := newFetching(t, "sqlite")
	f.job = catalogue.Job(f.store, strings.Replace(f.address, "http://", "http://ann:secret-word@", 1), time.Hour)
	f.answers(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if name, word, _ := r.BasicAuth(); name != "ann" || word != "secret-word" {
			w.WriteHeader(nethttp.StatusUnauthorized)
			return
		}
		sends(body)(w, r)
	})
	require.NoError(t, f.run(t.Context(), t))
	stored, err := f.store.Catalogue(t.Context(), "")
	require.NoError(t, err)
	require.NotContains(t, stored.Source, "secret")
	require.False(t, stored.IsFrom(f.address))
	for about, h := range misbehaviour() {
		if about == "silence" || about == "drips" {
			continue // these take time
		}
		f.answers(h)
		require.NotContains(t, f.run(t.Context(), t).Error(), "secret", about)
	}
}
