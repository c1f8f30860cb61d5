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
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// authority issues certificates in tests.
type authority struct {
	tb   testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// file is the authority's own certificate.
	file string
}

func newAuthority(tb testing.TB) *authority {
	tb.Helper()
	a := &authority{tb: tb}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	a.cert = template
	a.file, _ = a.sign(template)
	return a
}

// issue returns the files of a certificate for 127.0.0.1, and of its key.
func (a *authority) issue(usage x509.ExtKeyUsage, until time.Time) (cert, key string) {
	return a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "somebody"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{usage}, NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: until,
	})
}

// sign writes a certificate that the authority signs, with a new key. The first one is
// the authority's own.
func (a *authority) sign(template *x509.Certificate) (cert, key string) {
	a.tb.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.tb, err)
	if a.key == nil {
		a.key = private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &private.PublicKey, a.key)
	require.NoError(a.tb, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(a.tb, err)
	folder := a.tb.TempDir()
	cert, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	require.NoError(a.tb, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(a.tb, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	return cert, key
}

// pair names the files of a certificate and of its key.
type pair struct{ cert, key string }

func pairOf(cert, key string) pair { return pair{cert, key} }

// callingWith returns s for calls with a client certificate, or with none. The connection
// stays open between calls.
func callingWith(s *service, shown pair) *service {
	settings := &tls.Config{InsecureSkipVerify: true}
	if shown.cert != "" {
		read, err := tls.LoadX509KeyPair(shown.cert, shown.key)
		require.NoError(s.tb, err)
		// The certificate is sent even if the service names other authorities.
		settings.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &read, nil }
	}
	transport := &http.Transport{TLSClientConfig: settings, MaxConnsPerHost: 1}
	s.tb.Cleanup(transport.CloseIdleConnections)
	return &service{tb: s.tb, url: strings.Replace(s.url, "http:", "https:", 1), client: &http.Client{Transport: transport, Timeout: answerMax}}
}

// listsPools returns the status of an admin call with the right token.
func (s *service) listsPools(token string) int {
	s.tb.Helper()
	status, _, err := s.ask("GET", "/admin/pools", "", "Authorization", "Bearer "+token)
	require.NoError(s.tb, err)
	return status
}

const adminOfTest = "an-admin-token-of-the-test"

// TestClientCertificates: besides the token, admin calls need a certificate of the
// current authority, on open connections too; draws need none. The control is a service
// that demands none.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	ours, foreign := newAuthority(t), newAuthority(t)
	soon := time.Now().Add(time.Hour)
	cert, key := ours.issue(x509.ExtKeyUsageServerAuth, soon)
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	p.refused(exitUsage, "--tls-client-ca needs HTTPS", "serve", "--tls-client-ca", ours.file)
	p.refused(exitUsage, "--tls-client-ca: the file holds no certificate", "serve", "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", key)
	demanded := filepath.Join(t.TempDir(), "authorities.pem")
	replace := func(from string) {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(demanded, text, 0o600))
	}
	replace(ours.file)
	common := []string{"--tls-cert", cert, "--tls-key", key, "--admin-token", adminOfTest}
	s := p.start(append(common, "--tls-client-ca", demanded)...)
	control := spring(t, stocktest.Migrated(t, "sqlite")).start(common...)

	none := callingWith(s.service, pair{})
	operator := callingWith(s.service, pairOf(ours.issue(x509.ExtKeyUsageClientAuth, soon)))
	newcomer := callingWith(s.service, pairOf(foreign.issue(x509.ExtKeyUsageClientAuth, soon)))
	expired := pairOf(ours.issue(x509.ExtKeyUsageClientAuth, time.Now().Add(-time.Hour)))
	otherUse := pairOf(ours.issue(x509.ExtKeyUsageServerAuth, soon))
	require.Equal(t, 200, operator.listsPools(adminOfTest))
	require.Equal(t, 401, operator.listsPools("a-wrong-token-of-the-test"))
	for _, refused := range []*service{none, newcomer, callingWith(s.service, expired), callingWith(s.service, otherUse)} {
		require.Equal(t, 403, refused.listsPools(adminOfTest))
		refused.won("spring", "u1", "")
	}
	for _, taken := range []pair{{}, expired, otherUse} {
		require.Equal(t, 200, callingWith(control.service, taken).listsPools(adminOfTest), "it demands none")
	}

	s.reload("a changed file cannot be used", func() { require.NoError(t, os.WriteFile(demanded, []byte("nothing"), 0o600)) })
	require.Equal(t, 200, operator.listsPools(adminOfTest))
	s.reload("a changed file is used from now on", func() { replace(foreign.file) })
	require.Equal(t, 403, operator.listsPools(adminOfTest), "its connection is older than the change")
	require.Equal(t, 200, newcomer.listsPools(adminOfTest))
}

// TestCommandsShowACertificate: commands with --server can show a certificate.
func TestCommandsShowACertificate(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	cert, key := ours.issue(x509.ExtKeyUsageServerAuth, time.Now().Add(time.Hour))
	mine, myKey := ours.issue(x509.ExtKeyUsageClientAuth, time.Now().Add(time.Hour))
	s := spring(t, stocktest.Migrated(t, "sqlite")).start("--tls-cert", cert, "--tls-key", key, "--tls-client-ca", ours.file, "--admin-token", adminOfTest)
	p := program{tb: t, vars: map[string]string{
		"DRAWSVC_SERVER": strings.Replace(s.url, "http:", "https:", 1), "DRAWSVC_TOKEN": adminOfTest, "SSL_CERT_FILE": ours.file,
	}}
	output, err := p.command("pool", "list").CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(output), "client certificate")
	output, err = p.command("pool", "list", "--client-cert", mine, "--client-key", myKey).CombinedOutput()
	require.NoError(t, err, string(output))
	require.Contains(t, string(output), "spring")
	p.refused(exitUsage, "give both or none", "pool", "list", "--client-cert", mine)
	p.refused(exitUsage, "--client-cert and --client-key: ", "pool", "list", "--client-cert", myKey, "--client-key", mine)
}

// TestTLSOffersWhatIsSafe: the service accepts only authenticated encryption, and sends a
// header that makes browsers use only TLS. The controls are a suite that is accepted, and
// a service without TLS.
func TestTLSOffersWhatIsSafe(t *testing.T) {
	t.Parallel()
	cert, key := writeCertificate(t, t.TempDir(), 1)
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve("--tls-cert", cert, "--tls-key", key)
	for suite, isTaken := range map[uint16]bool{
		tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: true, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: false, tls.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: false,
	} {
		c, err := tls.Dial("tcp", strings.TrimPrefix(s.url, "http://"), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}})
		require.Equal(t, isTaken, err == nil, tls.CipherSuiteName(suite))
		if err == nil {
			require.NoError(t, c.Close())
		}
	}
	plain := spring(t, stocktest.Migrated(t, "sqlite")).serve()
	for _, path := range []string{"/livez", "/admin/pools", "/nowhere", "/ui"} {
		for from, want := range map[*service]string{callingWith(s, pair{}): "max-age=31536000", plain: ""} {
			answer, err := from.client.Get(from.url + path)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, want, answer.Header.Get("Strict-Transport-Security"), path)
		}
	}
}
