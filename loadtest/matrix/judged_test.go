package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/harness"
)

// TestEveryScriptIsJudged: both matrices have a judged run of each script.
func TestEveryScriptIsJudged(t *testing.T) {
	scripts, err := filepath.Glob("../k6/*.js")
	require.NoError(t, err)
	for name, list := range map[string][]cell{"full": fullCells(), "quick": quickCells()} {
		is := map[string]bool{}
		for _, c := range list {
			is[c.script] = is[c.script] || c.judged
		}
		for _, path := range scripts {
			if script := strings.TrimSuffix(filepath.Base(path), ".js"); script != "lib" {
				assert.True(t, is[script], "%s: %s", name, script)
			}
		}
	}
}

// TestAnUndescribedExchangeFailsItsCell: the proxy passes on the service's answers, and
// names the parts that openapi.yaml does not describe.
func TestAnUndescribedExchangeFailsItsCell(t *testing.T) {
	const right = `{"draw":"k","pool":"p","user":"u","replayed":false,"awards":[` +
		`{"prize":"gold","name":"Gold","value":"1.50","win":true,"unit":1,"version":2,"at":"2026-11-11T11:11:11Z"}]}`
	for name, d := range map[string]struct {
		status     int
		sent, body string
		want       string // "" for a cell that passes
	}{
		"as described":              {200, `{"pool":"p","user":"u","count":1}`, right, ""},
		"a member that is not":      {200, `{"pool":"p","user":"u"}`, strings.Replace(right, `"unit"`, `"lucky":7,"unit"`, 1), "lucky"},
		"a status that is not":      {201, `{"pool":"p","user":"u"}`, right, "status 201 is not described"},
		"a member of the request":   {200, `{"pool":"p","user":"u","lucky":7}`, right, "lucky"},
		"a request of another type": {200, `{"pool":"p","user":"u","count":"1"}`, right, "count"},
	} {
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(d.status)
			_, _ = fmt.Fprint(w, d.body)
		}))
		r := newResult(judged()[0])
		require.NoError(t, harness.On(name, func(s *harness.Site) error {
			at, j := judge(s, []string{service.URL})
			said, status, err := harness.Call(t.Context(), http.MethodPost, at[0]+"/draw", d.sent)
			require.NoError(t, err)
			require.Equal(t, d.status, status)
			require.Equal(t, d.body, string(said))
			j.into(&r)
			return nil
		}))
		service.Close()
		require.Equal(t, 1, r.Exchanges, name)
		require.Equal(t, d.want == "", len(r.Faults) == 0, r.Faults)
		require.Contains(t, strings.Join(r.Faults, "\n"), d.want, name)
	}
	r := newResult(judged()[0])
	require.NoError(t, harness.On("nothing", func(s *harness.Site) error {
		_, j := judge(s, nil)
		j.into(&r)
		return nil
	}))
	require.Equal(t, []string{"no exchange was judged"}, r.Faults)
}
