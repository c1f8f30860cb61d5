package http

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/http/packed"
)

// gunzip returns the decompressed data, or an error if it is incomplete.
func gunzip(r io.Reader) ([]byte, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// TestGzip: long reads are compressed for callers who accept it, and have the same
// content.
func TestGzip(t *testing.T) {
	ask := func(path, accept, encoding string) *httptest.ResponseRecorder {
		_, s := newGrowing(t, 2500)
		w := do(s, asAdmin("GET", path, "", "Accept", accept, "Accept-Encoding", encoding))
		require.Equal(t, 200, w.Code, w.Body)
		require.Equal(t, "Accept, Accept-Encoding", w.Header().Get("Vary"))
		return w
	}
	for path, accept := range map[string]string{"/admin/pools/p/awards": typeCSV, "/admin/pools/p/awards?limit=900": "application/json"} {
		plain := ask(path, accept, "identity")
		require.Empty(t, plain.Header().Get("Content-Encoding"))
		for _, encoding := range []string{"gzip", "br, gzip;q=0.1", "*", "GZIP"} {
			w := ask(path, accept, encoding)
			require.Equal(t, "gzip", w.Header().Get("Content-Encoding"), encoding)
			require.Empty(t, w.Header().Get("Content-Length"))
			require.Equal(t, plain.Header().Get("Content-Type"), w.Header().Get("Content-Type"))
			require.Less(t, w.Body.Len(), plain.Body.Len()/3)
			whole, err := gunzip(w.Body)
			require.NoError(t, err)
			require.Equal(t, plain.Body.String(), string(whole), path)
		}
		for _, encoding := range []string{"", "br", "gzip;q=0", "*, gzip;q=0", "gzip;q=x", "gzi"} {
			require.Equal(t, plain.Body.String(), ask(path, accept, encoding).Body.String(), encoding)
		}
	}
}

// TestGzipIsForEveryLog: a stream is compressed, even if it turns out to be short.
func TestGzipIsForEveryLog(t *testing.T) {
	for path, accept := range map[string]string{"moves": typeCSV, "log": typeNDJSON} {
		w := do(newServer(t, &fake{}), asAdmin("GET", "/admin/pools/p/"+path, "", "Accept", accept, "Accept-Encoding", "gzip"))
		require.Equal(t, 200, w.Code, w.Body)
		require.Equal(t, "gzip", w.Header().Get("Content-Encoding"), path)
		whole, err := gunzip(w.Body)
		require.NoError(t, err)
		require.NotEmpty(t, whole)
	}
}

// widePool has a pool of many prizes.
type widePool struct{ fakeStore }

func (widePool) Pool(_ context.Context, id string) (draw.Pool, error) {
	prizes := make([]draw.Prize, 300)
	for i := range prizes {
		prizes[i] = draw.Prize{ID: fmt.Sprint("p", i), Name: "A prize", Kind: draw.KindPrize}
	}
	return draw.Pool{ID: id, Name: "Wide", State: draw.StateOpen, Version: 1, Revision: 1, IsFair: true, Prizes: prizes}, nil
}

// TestGzipIsForWidePools: files, and answers that grow with the number of prizes, are
// compressed. Answers that many callers share are compressed once.
func TestGzipIsForWidePools(t *testing.T) {
	f := &fake{}
	s := newServer(t, f, func(c *Config) { c.Store = widePool{fakeStore{f}} })
	ask := func(path string, headers ...string) *httptest.ResponseRecorder {
		return do(s, asAdmin("GET", path, "", headers...))
	}
	for _, path := range []string{"/pools/wide", "/admin/pools/wide", "/openapi.yaml", "/openapi.json", "/ui/app.js"} {
		plain, small := ask(path), ask(path, "Accept-Encoding", "gzip, br")
		require.Equal(t, 200, small.Code, path)
		require.Empty(t, plain.Header().Get("Content-Encoding"), path)
		require.Equal(t, "gzip", small.Header().Get("Content-Encoding"), path)
		require.Equal(t, plain.Header().Get("Content-Type"), small.Header().Get("Content-Type"))
		for _, w := range []*httptest.ResponseRecorder{plain, small} {
			require.Contains(t, w.Header().Get("Vary"), "Accept-Encoding", path)
		}
		require.Less(t, small.Body.Len(), plain.Body.Len())
		whole, err := gunzip(small.Body)
		require.NoError(t, err)
		require.Equal(t, plain.Body.String(), string(whole), path)
	}

	tag := ask("/pools/wide").Header().Get("ETag")
	compressed := ask("/pools/wide", "Accept-Encoding", "gzip").Header().Get("ETag")
	for _, known := range []string{tag, "W/" + tag, compressed, "W/" + compressed} {
		w := ask("/pools/wide", "Accept-Encoding", "gzip", "If-None-Match", known)
		require.Equal(t, 304, w.Code)
		require.Empty(t, w.Header().Get("Content-Encoding"))
	}
}

// TestTagsAreOfOneAnswer: for every call whose answer has a tag and may be compressed,
// the tags of the compressed and the plain form are strong and differ, because their
// bytes differ, and If-Match accepts both.
func TestTagsAreOfOneAnswer(t *testing.T) {
	f := &fake{rules: longRules(t)}
	s := newServer(t, f, func(c *Config) { c.Store = widePool{fakeStore{f}} })
	tagged := 0
	for _, call := range calls() {
		if call.method != "GET" {
			continue
		}
		answers := map[string]*httptest.ResponseRecorder{}
		for _, encoding := range []string{"identity", "gzip"} {
			answers[encoding] = do(s, asAdmin(call.method, call.target, call.body, "Accept-Encoding", encoding))
		}
		tag, compressed := answers["identity"].Header().Get("ETag"), answers["gzip"].Header().Get("ETag")
		require.Equal(t, tag == "", compressed == "", call.target)
		if tag == "" {
			continue
		}
		if answers["identity"].Body.Len() < packed.Least {
			require.Equal(t, tag, compressed, call.target)
			continue
		}
		tagged++
		require.Equal(t, "gzip", answers["gzip"].Header().Get("Content-Encoding"), "%s: the test is of long answers", call.target)
		require.Equal(t, strings.TrimSuffix(tag, `"`)+`-gzip"`, compressed, call.target)
		require.Equal(t, ifMatch(nethttp.Header{"If-Match": {tag}}, nil), ifMatch(nethttp.Header{"If-Match": {compressed}}, nil), call.target)
	}
	require.Equal(t, 8, tagged, "GET /pools/{pool}, /fair/{pool}/facts and a file of that page, /admin/pools/{pool}, /admin/pools/{pool}/rules, both descriptions and the page's script")
}

// longRules returns rules whose document is worth compressing.
func longRules(t *testing.T) *draw.Rules {
	t.Helper()
	blocked := make([]string, 300)
	for i := range blocked {
		blocked[i] = fmt.Sprintf(`"user-%d"`, i)
	}
	rules, err := rules.Parse([]byte(`{"blocked":[` + strings.Join(blocked, ",") + `]}`))
	require.NoError(t, err)
	return rules
}

// TestGzipIsNotForAll: short answers, problems, HEAD and draws are not compressed.
func TestGzipIsNotForAll(t *testing.T) {
	s := newServer(t, &fake{awards: manyAwards(3)})
	for _, r := range []*nethttp.Request{
		asAdmin("GET", "/admin/pools/p/awards", ""), asAdmin("GET", "/admin/pools/p/awards?limit=0", ""),
		asAdmin("HEAD", "/admin/pools/p/awards", ""), request("POST", "/draw", `{"pool":"p","user":"u1"}`),
	} {
		r.Header.Set("Accept-Encoding", "gzip")
		w := do(s, r)
		require.Empty(t, w.Header().Get("Content-Encoding"), r.URL)
		require.NotContains(t, w.Body.String(), "\x1f\x8b")
		isProblem := w.Header().Get("Content-Type") == "application/problem+json"
		require.Equal(t, w.Code >= 400, isProblem)
		if isProblem || r.Method == nethttp.MethodPost {
			require.Empty(t, w.Header().Get("Vary"))
		}
	}
}

// TestGzipOfBrokenStream: a stream that fails in its middle is cut, and the bytes that
// arrived are not a complete gzip file. The service continues.
func TestGzipOfBrokenStream(t *testing.T) {
	g, s := newGrowing(t, 2500)
	g.failAt = 2
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	r := asAdmin("GET", server.URL+"/admin/pools/p/awards", "", "Accept", typeCSV, "Accept-Encoding", "gzip")
	r.RequestURI = ""
	answer, err := nethttp.DefaultClient.Do(r)
	require.NoError(t, err)
	require.Equal(t, "gzip", answer.Header.Get("Content-Encoding"))
	sent, err := io.ReadAll(answer.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NoError(t, answer.Body.Close())
	require.NotEmpty(t, sent, "the first page arrives before the second is read")
	_, err = gunzip(bytes.NewReader(sent))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "what arrived is no whole file either")
	server.Close() // waits for the handler, which shares the store
	require.Equal(t, 200, do(s, asAdmin("GET", "/admin/pools/p/awards", "", "Accept-Encoding", "gzip")).Code)
}
