package packaging

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"

	"drawsvc/internal/servertest"
)

// seedIdentity unseals what is sealed to seedRecipient. Both are for tests.
const (
	seedRecipient = "age1rrdjwypxy2pny5kuzrfdc8nvqv0ge9hzhqca37nz9j3qa4uxz9hqut86tf"
	seedIdentity  = "AGE-SECRET-KEY-10FKJMCR5CH5WSAL52UM9CFJDRZ33ZS62580P9TEPAQ8GJTTY653SQSX4PP"
)

// certificate returns a self-signed certificate for 127.0.0.1, its key, and both as a
// pair.
func certificate(t *testing.T) (cert, key string, pair tls.Certificate) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "draws"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	cert = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	key = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	pair, err = tls.X509KeyPair([]byte(cert), []byte(key))
	require.NoError(t, err)
	return cert, key, pair
}

// front starts a proxy without TLS to a service with TLS, and returns the proxy's
// address. The proxy presents the certificate own to the service.
func front(t *testing.T, address, authority string, own tls.Certificate) string {
	t.Helper()
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM([]byte(authority)))
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "https", Host: address})
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// newToken returns a token of a role, and its entry for the file of tokens.
func newToken(t *testing.T, role string) (token, entry string) {
	t.Helper()
	printed := ok(t, nil, program(t), "token", "new", "--name", role, "--role", role)
	for line := range strings.Lines(printed) {
		if rest, is := strings.CutPrefix(line, "token: "); is {
			token = strings.TrimSpace(rest)
		}
		if rest, is := strings.CutPrefix(line, "entry: "); is {
			entry = strings.TrimSpace(rest)
		}
	}
	require.NotEmpty(t, token)
	require.NotEmpty(t, entry)
	return token, entry
}

// variable returns a variable of a process.
func variable(t *testing.T, d *daemon, name string) string {
	t.Helper()
	for _, v := range d.cmd.Env {
		if value, is := strings.CutPrefix(v, name+"="); is {
			return value
		}
	}
	require.Fail(t, "no variable "+name)
	return ""
}

// campaign is what a campaign mounts: files by their paths below the folder of secrets.
type campaign struct {
	t           *testing.T
	admin, draw string
	files       map[string]string
	// own is the certificate of an administrator.
	own tls.Certificate
}

func newCampaign(t *testing.T) *campaign {
	t.Helper()
	catalogue := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"items":[]}`)
	}))
	t.Cleanup(catalogue.Close)
	c := &campaign{t: t}
	var adminEntry, drawEntry, cert, key, adminCA, databaseCA string
	c.admin, adminEntry = newToken(t, "admin")
	c.draw, drawEntry = newToken(t, "draw")
	cert, key, _ = certificate(t)
	adminCA, _, c.own = certificate(t)
	databaseCA, _, _ = certificate(t)
	c.files = map[string]string{
		"database": servertest.Postgres(t), "ca/database.crt": databaseCA,
		"tokens.json":   `{"tokens":[` + adminEntry + `,` + drawEntry + `]}`,
		"seed-identity": seedIdentity, "seed-recipients": seedRecipient,
		"ticket-keys":   `{"keys":[{"kty":"oct","kid":"k","k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"}]}`,
		"seal-keys":     strings.TrimSpace(ok(t, nil, program(t), "seal-key", "new")),
		"catalogue-url": catalogue.URL,
		"tls.crt":       cert, "tls.key": key, "tls-client-ca.crt": adminCA,
	}
	return c
}

// write writes the files into a folder. Only the account and its group can read them.
func (c *campaign) write(folder string) {
	c.t.Helper()
	for path, text := range c.files {
		file := filepath.Join(folder, path)
		require.NoError(c.t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(c.t, os.WriteFile(file, []byte(text), 0o600))
		require.NoError(c.t, os.Chmod(file, 0o640))
	}
}

// play commits a pool, stocks it with codes, opens it and draws from it.
func (c *campaign) play(address string) {
	c.t.Helper()
	call := func(method, path, body string, status int) {
		c.t.Helper()
		kind := "application/json"
		if !strings.HasPrefix(body, "{") {
			kind = "text/plain"
		}
		got, answer := settled(c.t, method, "http://"+address+path, body, "Authorization", "Bearer "+c.admin, "Content-Type", kind)
		require.Equal(c.t, status, got, answer)
	}
	call("POST", "/admin/pools", `{"id":"p","name":"P","state":"paused","prizes":[{"id":"card","name":"Card","codes":true}]}`, http.StatusCreated)
	call("POST", "/admin/pools/p/prizes/card/codes", "AAAA-1\nAAAA-2\n", http.StatusCreated)
	call("POST", "/admin/pools/p/commitment", `{"origin":"draws.example.org"}`, http.StatusCreated)
	call("PATCH", "/admin/pools/p", `{"state":"open"}`, http.StatusOK)
	wins(c.t, address, "p", "Authorization", "Bearer "+c.draw)
}

// ends waits until the publisher has published a checkpoint, and then stops the publisher
// and the service. Neither may have printed a secret.
func (c *campaign) ends(service, publisher *daemon) {
	c.t.Helper()
	until(c.t, publisher.ended, func() bool {
		found, err := filepath.Glob(filepath.Join(variable(c.t, publisher, "DRAWSVC_DIR"), "p", "checkpoint*"))
		return err == nil && len(found) > 0
	}, func() string { return publisher.output.String() })
	publisher.stop()
	service.stop()
	for _, secret := range []string{c.admin, c.draw, seedIdentity, "AAAA-1", "AAAA-2"} {
		require.NotContains(c.t, service.output.String()+publisher.output.String(), secret)
	}
}

// TestCampaignsChartStarts starts everything that the chart runs for a campaign, with
// every file that it mounts: the migration, the service and the publisher. A pool is
// committed, stocked with codes and drawn from over HTTPS, and its checkpoint is
// published.
func TestCampaignsChartStarts(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	s := secrets{
		"drawsvc-database":  {"url": c.files["database"]},
		"database-ca":       {"ca.crt": c.files["ca/database.crt"]},
		"drawsvc-tokens":    {"tokens.json": c.files["tokens.json"]},
		"drawsvc-seeds":     {"identity": c.files["seed-identity"], "recipients": c.files["seed-recipients"]},
		"drawsvc-tickets":   {"ticket-keys": c.files["ticket-keys"]},
		"drawsvc-seal-keys": {"seal-keys": c.files["seal-keys"]},
		"drawsvc-catalogue": {"url": c.files["catalogue-url"]},
		"drawsvc-tls":       {"tls.crt": c.files["tls.crt"], "tls.key": c.files["tls.key"]},
		"admins-ca":         {"ca.crt": c.files["tls-client-ca.crt"]},
	}
	manifests, err := template(t, "campaign", "shutdownDelaySeconds=0")
	require.NoError(t, err, manifests)
	run(t, ofKind[batch.Job](t, manifests, "Job")[0].Spec.Template.Spec, s, nil).succeeds()
	pods := map[string]apps.Deployment{}
	for _, d := range ofKind[apps.Deployment](t, manifests, "Deployment") {
		pods[d.Name] = d
	}
	ports := map[string]string{"http": servertest.FreeAddr(t), "metrics": servertest.FreeAddr(t)}
	service := run(t, pods["drawsvc"].Spec.Template.Spec, s, ports)
	service.answers("http://"+ports["metrics"]+"/readyz", http.StatusOK)
	c.play(front(t, ports["http"], c.files["tls.crt"], c.own))
	publisher := run(t, pods["drawsvc-publish"].Spec.Template.Spec, s, map[string]string{"metrics": servertest.FreeAddr(t)})
	c.ends(service, publisher)
}

// unlike compares the settings in a text with the files that the chart mounts. It returns
// the variables that the text does not set to the chart's file below the folder.
func unlike(chart, text, folder string) (missing []string) {
	for _, found := range regexp.MustCompile(`path: (\S+), variable: (\w+)`).FindAllStringSubmatch(chart, -1) {
		if !regexp.MustCompile(`(?m)^ *#?` + found[2] + `(=|: )` + regexp.QuoteMeta(folder+found[1]) + `$`).MatchString(text) {
			missing = append(missing, found[2])
		}
	}
	return missing
}

// TestFilesAreTheSameEverywhere: the settings of the units and the compose files name
// each file that the chart can mount. The broken double is a chart with one more file.
func TestFilesAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	files := read(t, chart+"/templates/_files.tpl")
	require.Empty(t, unlike(files, read(t, "deploy/systemd/drawsvc.env"), "/etc/drawsvc/secrets/"))
	require.Equal(t, []string{
		"DRAWSVC_LOCK_FILE",     // the compose file has no lock service
		"DRAWSVC_TLS_CLIENT_CA", // admin calls come through the proxy, which has no certificate
	}, unlike(files, read(t, compose+"/compose.yaml")+read(t, compose+"/campaign.yaml"), "/run/secrets/"))
	files += "- {secret: x, key: y, path: more, variable: DRAWSVC_MORE}\n"
	require.Equal(t, []string{"DRAWSVC_MORE"}, unlike(files, read(t, "deploy/systemd/drawsvc.env"), "/etc/drawsvc/secrets/"))
	for _, text := range []string{read(t, "deploy/systemd/drawsvc.env"), read(t, compose+"/campaign.yaml")} {
		require.Contains(t, text, "SSL_CERT_DIR")
		require.Contains(t, text, "OTEL_EXPORTER_OTLP_ENDPOINT")
	}
}

// lacking returns the variables of the unit's settings that a text does not name.
func lacking(settings string, names func(variable string) bool) (missing []string) {
	for _, found := range regexp.MustCompile(`(?m)^#?([A-Z][A-Z_]+)=`).FindAllStringSubmatch(settings, -1) {
		if !names(found[1]) {
			missing = append(missing, found[1])
		}
	}
	return missing
}

// TestSettingsAreTheSameEverywhere: the compose files and the chart name each variable of
// the units' settings; the chart may name its flag instead. The exceptions are listed.
// The broken double is an additional setting.
func TestSettingsAreTheSameEverywhere(t *testing.T) {
	t.Parallel()
	units := read(t, "deploy/systemd/drawsvc.env")
	files := read(t, compose+"/compose.yaml") + read(t, compose+"/campaign.yaml")
	charts := read(t, chart+"/templates/_environment.tpl") + read(t, chart+"/templates/_files.tpl") + read(t, chart+"/values.yaml")
	inCompose := func(variable string) bool { return strings.Contains(files, "    "+variable+":") }
	inChart := func(variable string) bool {
		flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, "DRAWSVC_"), "_", "-"))
		return regexp.MustCompile(`\b`+variable+`\b`).MatchString(charts) || strings.Contains(charts, " "+flag+": ")
	}
	require.Equal(t, []string{
		"DRAWSVC_DATABASE", "DRAWSVC_ADMIN_TOKEN", "DRAWSVC_DRAW_TOKEN", // the compose files name files with them instead
		"DRAWSVC_LOCK_FILE",     // the compose file has no lock service
		"DRAWSVC_TLS_CLIENT_CA", // admin calls come through the proxy, which has no certificate
	}, lacking(units, inCompose))
	require.Equal(t, []string{"DRAWSVC_ADMIN_TOKEN", "DRAWSVC_DRAW_TOKEN"}, lacking(units, inChart), "their files instead")
	units += "#DRAWSVC_MORE=yes\n"
	require.Contains(t, lacking(units, inCompose), "DRAWSVC_MORE")
	require.Contains(t, lacking(units, inChart), "DRAWSVC_MORE")
}
