package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// TestHealthcheck: the command checks the service that --listen or --url names.
func TestHealthcheck(t *testing.T) {
	t.Parallel()
	p := on(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve()
	address := strings.TrimPrefix(s.url, "http://")
	require.Equal(t, "ready\n", p.ok("healthcheck", "--listen", address))
	require.Equal(t, "ready\n", p.ok("healthcheck", "--url", s.url))
	p.vars["DRAWSVC_LISTEN"] = address
	require.Equal(t, "ready\n", p.ok("healthcheck"))
	s.end()
	p.vars["DRAWSVC_LISTEN"] = servertest.ClosedAddr(t)
	p.refused(exitFailure, "refused", "healthcheck")
	p.refused(exitUsage, "--url must be such as", "healthcheck", "--url", "127.0.0.1:1")
	p.refused(exitUsage, "--listen must be HOST:PORT", "healthcheck", "--listen", "8080")
	double := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer double.Close()
	p.refused(exitFailure, "answers 503", "healthcheck", "--url", double.URL)
}

// becomesReady waits until the service reports that it is ready. On a busy machine a
// check may exceed its timeout of two seconds.
func (s *service) becomesReady() {
	s.tb.Helper()
	require.Eventually(s.tb, func() bool {
		status, _, err := s.ask("GET", "/readyz", "")
		return err == nil && status == http.StatusOK
	}, commandMax, 50*time.Millisecond)
}

// writeCertificate creates a certificate with a serial number, and its key.
func writeCertificate(tb testing.TB, folder string, serial int64) (cert, key string) {
	tb.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(tb, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "drawsvc"}, DNSNames: []string{"draws.example.org"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(tb, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(tb, err)
	cert, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	require.NoError(tb, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(tb, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

// shown returns the serial number of the certificate that a service shows.
func shown(tb testing.TB, address string) int64 {
	tb.Helper()
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
	require.NoError(tb, err)
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// TestTLS: draws over HTTPS work, a certificate can be replaced while callers are
// connected, and a bad certificate is not used.
func TestTLS(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	cert, key := writeCertificate(t, folder, 1)
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	p.refused(exitUsage, "give both or none", "serve", "--listen", "127.0.0.1:0", "--tls-cert", cert)
	p.refused(exitUsage, "--tls-cert and --tls-key", "serve", "--listen", "127.0.0.1:0", "--tls-cert", key, "--tls-key", cert)
	s := p.start("--tls-cert", cert, "--tls-key", key)
	address := strings.TrimPrefix(s.url, "http://")
	s.url = "https://" + address
	s.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	for range 20 {
		s.won("spring", "u1", "")
	}
	require.Equal(t, "ready\n", p.ok("healthcheck", "--listen", address, "--tls-cert", cert))
	require.Equal(t, int64(1), shown(t, address))
	s.token = s.printedToken("admin")
	exposition, err := s.metrics()
	require.NoError(t, err)
	end, err := strconv.ParseFloat(sample(exposition, "drawsvc_certificate_end_timestamp_seconds"), 64)
	require.NoError(t, err)
	require.InDelta(t, time.Now().Add(time.Hour).Unix(), end, 600)
	require.Equal(t, "+Inf", sample(exposition, "drawsvc_token_end_timestamp_seconds"))
	other, _ := writeCertificate(t, t.TempDir(), 7)
	p.refused(exitFailure, "another certificate", "healthcheck", "--listen", address, "--tls-cert", other)

	plain := program{tb: t, vars: map[string]string{"DRAWSVC_SERVER": "http://" + address, "DRAWSVC_TOKEN": "some-token-of-an-admin"}}
	plain.refused(exitFailure, "its URL must begin with https://", "pool", "list")
	plain.refused(exitFailure, "its URL must begin with https://", "pool", "pause", "spring")

	s.reload("a changed file cannot be used", func() { require.NoError(t, os.WriteFile(cert, []byte("nothing"), 0o600)) })
	require.Equal(t, int64(1), shown(t, address))
	s.reload("a changed file is used from now on", func() { writeCertificate(t, folder, 2) })
	require.Equal(t, int64(2), shown(t, address))
	s.won("spring", "u1", "")
	code, _ := s.signal(syscall.SIGTERM)
	require.Equal(t, exitOK, code)
}

// metricsAddress returns the address of --metrics-listen from the log.
func (s *service) metricsAddress() string {
	s.tb.Helper()
	var found []string
	require.Eventually(s.tb, func() bool {
		found = regexp.MustCompile(`"metrics_address":"([^"]+)"`).FindStringSubmatch(s.stderr.String())
		return found != nil
	}, commandMax, 10*time.Millisecond)
	return found[1]
}

// TestMetricsListen: the address of --metrics-listen serves probes and metrics without a
// token, and nothing else.
func TestMetricsListen(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve("--metrics-listen", "127.0.0.1:0", "--draw-token", "a-token-of-the-test")
	main := s.url
	s.url = "http://" + s.metricsAddress()
	for path, want := range map[string]int{"/metrics": 200, "/livez": 200, "/readyz": 200, "/admin/pools": 404, "/pools/spring": 404} {
		status, _, err := s.ask("GET", path, "", "Host", "metrics.example.org", "X-Forwarded-For", "192.0.2.1")
		require.NoError(t, err)
		require.Equal(t, want, status, path)
	}
	s.url = main
	require.Equal(t, exitOK, s.end().code)
}
