package http

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
)

// endless is a store whose exports continue until the test makes its database
// unavailable.
type endless struct {
	fakeStore
	away chan struct{}
}

var errAway = errors.New("the database is away")

func (e endless) err() error {
	select {
	case <-e.away:
		return errAway
	default:
		return nil
	}
}

func (e endless) Pool(_ context.Context, id string) (draw.Pool, error) {
	return draw.Pool{ID: id, Version: math.MaxInt64}, nil
}

func (e endless) Awards(_ context.Context, _ string, after int64, limit int) ([]draw.Award, error) {
	found := make([]draw.Award, limit)
	for i := range found {
		found[i] = award("d", "u")
		found[i].Version = after + int64(i) + 1
	}
	return found, e.err()
}

// WriteProofLog implements LogWriter.
func (e endless) WriteProofLog(_ context.Context, _ string, w io.Writer, begin func()) error {
	begin()
	return e.fill(w)
}

// ExportProof implements Exporter.
func (e endless) ExportProof(_ context.Context, _ string, create func(string) (io.Writer, error)) error {
	w, err := create("log.jsonl")
	if err != nil {
		return err
	}
	return e.fill(w)
}

// fill writes data that cannot be compressed.
func (e endless) fill(w io.Writer) error {
	random := rand.NewChaCha8([32]byte{})
	piece := make([]byte, 32<<10)
	for e.err() == nil {
		_, _ = random.Read(piece) // cannot fail
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return errAway
}

// cutting is a server of endless exports.
type cutting struct {
	server *Server
	store  endless
	run    running
}

// fault cuts an export. It returns when the connection has ended or will end at once.
type fault struct {
	prepare func(*Server)
	cut     func(*testing.T, cutting)
}

func awaitClosed(t *testing.T, c cutting) {
	t.Helper()
	require.Eventually(t, func() bool { return c.server.connections.Count() == 0 }, time.Minute, 5*time.Millisecond)
}

func faults() map[string]fault {
	return map[string]fault{
		"the database is away": {func(*Server) {}, func(_ *testing.T, c cutting) { close(c.store.away) }},
		"the caller is slow": {func(s *Server) {
			s.limits.page, s.limits.pace = 100*time.Millisecond, time.Millisecond
			s.limits.audit = -9900 * time.Millisecond // an answer has 10 s more
		}, awaitClosed},
		"the service ends": {func(s *Server) {
			s.limits.draws, s.limits.rest = time.Millisecond, time.Millisecond
		}, func(t *testing.T, c cutting) { c.run.end(); awaitClosed(t, c) }},
	}
}

// exported returns the exports that are streams, by method, path and type.
func exported() [][3]string {
	return [][3]string{
		{"GET", "/admin/pools/p/awards", typeCSV}, {"GET", "/pools/p/proof/log", typeNDJSON}, {"POST", "/admin/pools/p/proof", typeZip},
	}
}

// certified returns the TLS settings of a server and of its callers.
func certified(t *testing.T) (server, caller *tls.Config) {
	t.Helper()
	certificates := httptest.NewTLSServer(nil)
	defer certificates.Close()
	return &tls.Config{Certificates: certificates.TLS.Certificates, NextProtos: []string{"http/1.1"}}, &tls.Config{InsecureSkipVerify: true}
}

// cut requests an export, reads its beginning, calls fault to cut it, and returns the
// error at the end of the rest, nil if the export seems complete.
func cut(t *testing.T, address string, w wire, export [3]string, fault func()) error {
	t.Helper()
	a := w.begin(t, address, export[0], export[1], export[2], 64<<10)
	begun := make([]byte, 1<<10)
	_, err := io.ReadFull(a.body, begun)
	require.NoError(t, err)
	fault()
	rest, err := a.read()
	if export[2] == typeZip {
		whole := append(begun, rest...)
		_, unzipped := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
		require.Error(t, unzipped, "a directory ends an archive")
	}
	return err
}

// TestCutExportsLookBroken: for each cause, an export that is cut ends with an error for
// its caller. Over HTTP/1.0 the end of the connection is the end of an answer, so there
// the connection is reset.
func TestCutExportsLookBroken(t *testing.T) {
	t.Parallel()
	served, calling := certified(t)
	of := faults()
	for row, name := range slices.Sorted(maps.Keys(of)) {
		fault := of[name]
		for column, w := range append(wires(), wire{name: "HTTP/1.0, TLS", version: "1.0", tls: calling}) {
			for layer, export := range exported() {
				if export[2] == typeZip && w.name == "gzip" || !servertest.Every() && !servertest.Meets(row, column, layer, len(of)) {
					continue
				}
				t.Run(name+", "+w.name+", "+export[2], func(t *testing.T) {
					t.Parallel()
					e := endless{fakeStore{&fake{}}, make(chan struct{})}
					s := undescribed(newServer(t, e.fake, func(c *Config) {
						c.Store = e
						if w.tls != nil {
							c.TLS = served
						}
					}))
					fault.prepare(s)
					l, err := net.Listen("tcp", "127.0.0.1:0")
					require.NoError(t, err)
					c := cutting{s, e, runOn(t, s, l)}
					require.Error(t, cut(t, l.Addr().String(), w, export, func() { fault.cut(t, c) }))
					c.run.end()
					require.NoError(t, <-c.run.done)
				})
			}
		}
	}
}

// TestCutExportsLookBrokenCatches: with a server that closes its connections as usual,
// cut exports over HTTP/1.0 seem complete.
func TestCutExportsLookBrokenCatches(t *testing.T) {
	t.Parallel()
	for _, w := range wires()[:2] {
		for _, export := range exported() {
			e := endless{fakeStore{&fake{}}, make(chan struct{})}
			s := undescribed(newServer(t, e.fake, func(c *Config) { c.Store = e }))
			usual := httptest.NewServer(s.Handler())
			err := cut(t, usual.Listener.Addr().String(), w, export, func() { close(e.away) })
			usual.Close()
			require.Equal(t, w.version == "1.0", err == nil, "%s, %s: %v", w.name, export[2], err)
		}
	}
}

// behindNginx returns the address of an nginx in front of a server. It makes requests
// over HTTP/1.0, which is the default of some releases.
func behindNginx(t *testing.T, server string) string {
	t.Helper()
	listen := servertest.FreeAddr(t)
	servertest.StartNginx(t, listen, "server { listen "+listen+"; location / { proxy_http_version 1.0; proxy_pass http://"+server+"; } }")
	return listen
}

// TestCutExportsLookBrokenThroughNginx: nginx, over HTTP/1.0, notices the cut by the
// reset, and its caller, over HTTP/1.1, by the missing end of the chunks.
func TestCutExportsLookBrokenThroughNginx(t *testing.T) {
	t.Parallel()
	for _, export := range exported() {
		e := endless{fakeStore{&fake{}}, make(chan struct{})}
		s := undescribed(newServer(t, e.fake, func(c *Config) { c.Store = e }))
		require.Error(t, cut(t, behindNginx(t, served(t, s)), wires()[1], export, func() { close(e.away) }), export[2])

		// The broken double is a server that closes its connections as usual.
		e.away = make(chan struct{})
		s = undescribed(newServer(t, e.fake, func(c *Config) { c.Store = e }))
		usual := httptest.NewServer(s.Handler())
		defer usual.Close()
		require.NoError(t, cut(t, behindNginx(t, usual.Listener.Addr().String()), wires()[1], export, func() { close(e.away) }), export[2])
	}
}

// brief is a store that exports a short archive, and writes the archive's end too late.
type brief struct{ endless }

// ExportProof implements Exporter.
func (b brief) ExportProof(_ context.Context, _ string, create func(string) (io.Writer, error)) error {
	w, err := create("log.jsonl")
	if err != nil {
		return err
	}
	text := make([]byte, 200<<10)
	for i := range text {
		text[i] = byte(rand.Uint32()) // data that cannot be compressed
	}
	_, err = w.Write(text)
	time.Sleep(200 * time.Millisecond) // the write timeout is over
	return err
}

// TestLostEndLooksBroken: an export also ends with an error if only the data is lost
// that net/http still buffers after the handler has ended.
func TestLostEndLooksBroken(t *testing.T) {
	t.Parallel()
	b := brief{endless{fakeStore{&fake{}}, make(chan struct{})}}
	s := undescribed(newServer(t, b.fake, func(c *Config) { c.Store = b }))
	s.limits.audit = -9900 * time.Millisecond
	body, err := wires()[0].begin(t, served(t, s), nethttp.MethodPost, "/admin/pools/p/proof", typeZip, 0).read()
	require.Error(t, err, "%d bytes", len(body))
}
