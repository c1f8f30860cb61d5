package http

import (
	"archive/zip"
	"bytes"
	"cmp"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// archiveOf returns an archive of names and contents that replaces the service's.
func archiveOf(t *testing.T, files ...string) func([]byte) []byte {
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := archive.Create(files[i])
		require.NoError(t, err)
		_, err = io.WriteString(w, files[i+1])
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	return func([]byte) []byte { return b.Bytes() }
}

// proofWith returns the names and contents of a pool's files, one of them with another
// content.
func proofWith(name, content string) (files []string) {
	for _, f := range api.ProofFiles()[:6] { // all except the zones, which are the comment
		text := contentOf(f)
		if f == name {
			text = content
		}
		files = append(files, f, text)
	}
	return files
}

// TestExportProof: the files of a pool arrive unchanged, and no file is written from an
// archive that is truncated, damaged, another pool's or too long.
func TestExportProof(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		f      *fake
		change func(archive []byte) []byte
		code   draw.Code
	}{
		"whole":          {},
		"forked":         {f: &fake{err: draw.Errorf(draw.CodeLogForked, "it is")}, code: draw.CodeLogForked},
		"cut by service": {f: &fake{broken: draw.Errorf(draw.CodeStoreUnavailable, "away")}, code: draw.CodeStoreUnavailable},
		"cut by a proxy": {change: func(a []byte) []byte { return a[:len(a)-9] }, code: draw.CodeStoreUnavailable},
		"another file": {
			change: func(a []byte) []byte { return bytes.ReplaceAll(a, []byte("commitment"), []byte("../command")) }, code: draw.CodeStoreUnavailable,
		},
		"none of ours":   {change: func([]byte) []byte { return []byte("hello") }, code: draw.CodeStoreUnavailable},
		"a file twice":   {change: archiveOf(t, "key", "k\n", "key", "k\n"), code: draw.CodeStoreUnavailable},
		"a long key":     {change: archiveOf(t, proofWith("key", strings.Repeat("k", 2<<20))...), code: draw.CodeStoreUnavailable},
		"a log of zeros": {change: archiveOf(t, proofWith("log.jsonl", strings.Repeat("\x00", 8<<20))...), code: draw.CodeStoreUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, cmp.Or(tc.f, &fake{}))
			server := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
				if tc.change == nil {
					s.Handler().ServeHTTP(w, r)
					return
				}
				answer := httptest.NewRecorder()
				s.Handler().ServeHTTP(answer, r)
				_, _ = w.Write(tc.change(answer.Body.Bytes()))
			}))
			defer server.Close()
			admin := adminOf(server)
			files := map[string]*strings.Builder{}
			err := admin.ExportProof(t.Context(), "p", func(name string) (io.Writer, error) {
				files[name] = &strings.Builder{}
				return files[name], nil
			})
			require.Equal(t, tc.code, draw.CodeOf(err), "%v", err)
			if tc.code != "" {
				require.NotContains(t, files, "../command")
				return
			}
			require.Len(t, files, len(api.ProofFiles()))
			for name, content := range files {
				require.Equal(t, contentOf(name), content.String())
			}
		})
	}
}
