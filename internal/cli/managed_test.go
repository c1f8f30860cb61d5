package cli

import (
	"crypto/x509"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// managed is a PostgreSQL that is set up like a provider's. It requires TLS, with a
// certificate of its own authority. Within TLS the password is sent unencrypted, and the
// account of the service is not a superuser.
type managed struct {
	t     *testing.T
	owner *sql.DB
	url   url.URL
	// bundle is the file of the authorities.
	bundle string
}

func startManaged(t *testing.T) *managed {
	t.Helper()
	server := servertest.Start(t, "postgres", servertest.Durable(), servertest.Roomy(), servertest.Archived())
	base, err := url.Parse(server.URL())
	require.NoError(t, err)
	m := &managed{t: t, owner: rows(t, server.URL()), url: *base}
	m.url.Path = "/draws"
	authority := newAuthority(t)
	cert, key := authority.issue(x509.ExtKeyUsageServerAuth, time.Now().Add(time.Hour))
	// A provider's bundle also contains authorities that signed nothing here.
	m.bundle = filepath.Join(t.TempDir(), "bundle.pem")
	require.NoError(t, os.WriteFile(m.bundle, []byte(textOf(t, newAuthority(t).file)+textOf(t, authority.file)), 0o600))
	access := textOf(t, filepath.Join(server.Dir(), "data/pg_hba.conf"))
	server.File(t, "data/pg_hba.conf", "hostssl all draws 127.0.0.1/32 password\nhost all draws 127.0.0.1/32 reject\n"+access)
	m.exec(`CREATE ROLE draws LOGIN`, `CREATE DATABASE draws OWNER draws`,
		`ALTER SYSTEM SET ssl_cert_file = '`+server.File(t, "server.crt", textOf(t, cert))+`'`,
		`ALTER SYSTEM SET ssl_key_file = '`+server.File(t, "server.key", textOf(t, key))+`'`,
		`ALTER SYSTEM SET ssl = on`, `SELECT pg_reload_conf()`)
	return m
}

func textOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

func (m *managed) exec(statements ...string) {
	m.t.Helper()
	for _, statement := range statements {
		_, err := m.owner.ExecContext(m.t.Context(), statement)
		require.NoError(m.t, err, statement)
	}
}

// setToken makes a token the password, and returns the URL with it.
func (m *managed) setToken(token, mode, bundle string) string {
	m.t.Helper()
	m.exec(`ALTER ROLE draws PASSWORD '` + token + `'`)
	with := m.url
	with.User = url.UserPassword("draws", token)
	with.RawQuery = url.Values{"sslmode": {mode}, "sslrootcert": {bundle}}.Encode()
	return with.String()
}

// tokenOf returns a token as long as those of providers, with characters that a URL
// must encode.
func tokenOf(signature string) string {
	return "db.example.org:5432/?Action=connect&DBUser=draws&X-Amz-Security-Token=" + strings.Repeat("aB9+/%3D", 120) + "&X-Amz-Signature=" + signature
}

// TestLikeAManagedServer: the statements of docs/managed-postgres.md on TLS, on
// accounts and on successive tokens hold on a server that is set up like a provider's.
// The broken doubles are a connection without TLS and a connection that trusts another
// authority.
func TestLikeAManagedServer(t *testing.T) {
	t.Parallel()
	m := startManaged(t)
	database := filepath.Join(t.TempDir(), "database")
	first := m.setToken(tokenOf("1"), "verify-full", m.bundle)
	writeSecret(t, database, first)
	p := program{tb: t, vars: map[string]string{"DRAWSVC_DATABASE_FILE": database}}
	require.Eventually(t, func() bool { return p.run("migrate", "up").code == exitOK }, commandMax, 50*time.Millisecond, "the server has to reload")
	require.Equal(t, "no danger found\n", p.ok("doctor"))
	p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1000")
	for _, double := range [][2]string{{"disable", m.bundle}, {"verify-full", newAuthority(t).file}} {
		on(t, m.setToken(tokenOf("1"), double[0], double[1])).refused(exitFailure, "the database cannot be opened", "doctor")
	}

	s := p.start("--public-draw")
	s.won("spring", "u", "k1")
	second := m.setToken(tokenOf("2"), "verify-full", m.bundle)
	s.reload("a changed file is used from now on", func() { writeSecret(t, database, second) })
	m.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'draws'`)
	require.Eventually(t, func() bool {
		status, _, err := s.draw("spring", "u", "k2")
		return err == nil && status == 200
	}, commandMax, 50*time.Millisecond)

	// For a while the endpoint is that of a read-only replica.
	m.exec(`ALTER ROLE draws SET default_transaction_read_only = on`,
		`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'draws'`)
	require.Eventually(t, func() bool {
		status, body, err := s.draw("spring", "u", "k3")
		return err == nil && answerOf(status, body) == "503 [store-unavailable]" && strings.Contains(p.run("doctor").stdout, "danger: read-only: ")
	}, commandMax, 50*time.Millisecond)
	m.exec(`ALTER ROLE draws RESET default_transaction_read_only`)
	require.Eventually(t, func() bool {
		status, _, err := s.draw("spring", "u", "k3")
		return err == nil && status == 200
	}, commandMax, 50*time.Millisecond)
	m.exec(`ALTER DATABASE draws SET synchronous_commit = off`)
	require.Contains(t, p.run("doctor").stdout, "danger: synchronous-commit: synchronous_commit = off\n")
}
