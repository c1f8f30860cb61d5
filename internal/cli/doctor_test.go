package cli

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "postgres", servertest.Durable(), servertest.Roomy(), servertest.Archived())
	p := on(t, server.URL())
	o := p.run("doctor")
	require.Equal(t, exitViolation, o.code)
	require.Equal(t, fmt.Sprintf("danger: schema: the schema has version 0, this drawsvc knows %d", p.knows())+`
  why: drawsvc refuses to serve
  remedy: run `+"`drawsvc migrate up`"+`, or serve with --migrate
dangers: 1
`, o.stdout)
	p.ok("migrate", "up")
	newer := p
	newer.schema = "additive"
	require.Equal(t, fmt.Sprintf("warning: schema: the schema has version %d, this drawsvc knows %d", p.knows(), newer.knows())+`
  why: drawsvc can work on this schema, but the next release need not
  remedy: run `+"`drawsvc migrate up`"+`, or serve with --migrate
no danger found, warnings: 1
`, newer.ok("doctor"), "a warning is no failure")
	require.Equal(t, "no danger found\n", p.ok("doctor"))
	require.Equal(t, "no danger found\n", p.ok("doctor", "--lock", "row:", "--lock-ttl", "1m", "--lock-wait", "0"))
	require.Equal(t, `{"findings":[],"ok":true}`+"\n", p.ok("doctor", "--output", "json"))

	_, err := rows(t, server.URL()).ExecContext(t.Context(), `ALTER ROLE drawsvc SET synchronous_commit = off`)
	require.NoError(t, err)
	_, err = rows(t, server.URL()).ExecContext(t.Context(), `ALTER ROLE drawsvc SET default_transaction_isolation = 'serializable'`)
	require.NoError(t, err)
	o = p.run("doctor", "--output", "json")
	require.Equal(t, exitViolation, o.code)
	require.Equal(t, "the doctor found danger", o.message)
	require.Equal(t, `{"findings":[`+
		`{"level":"danger","rule":"synchronous-commit","detail":"synchronous_commit = off",`+
		`"why":"a draw is acknowledged before its commit is where it must be: a crash, or a failover, takes the latest ones with it",`+
		`"remedy":"set synchronous_commit = on, also for the role and the database that drawsvc uses `+
		`(ALTER ROLE or ALTER DATABASE … RESET synchronous_commit)"},`+
		`{"level":"warning","rule":"isolation","detail":"default_transaction_isolation = serializable",`+
		`"why":"draws say READ COMMITTED themselves and are not touched, but admin calls at the same time as draws are answered 503 contended more often",`+
		`"remedy":"set default_transaction_isolation = 'read committed' for the role that drawsvc uses"}],"ok":false}`+"\n", o.stdout)
	o = p.run("doctor")
	require.Equal(t, exitViolation, o.code)
	require.Contains(t, o.stdout, "danger: synchronous-commit: synchronous_commit = off\n  why: ")
	require.Contains(t, o.stdout, "\ndangers: 1, warnings: 1\n")
	server.Kill()
	p.refused(exitFailure, "the database cannot be opened", "doctor")
}

func TestDoctorRefuses(t *testing.T) {
	t.Parallel()
	p := on(t, stocktest.URL(t, "sqlite"))
	p.refused(exitFailure, "there is no database file", "doctor")
	p.ok("migrate", "up")
	p.refused(exitUsage, `lock "row:" is not possible on sqlite`, "doctor", "--lock", "row:")
	p.refused(exitUsage, "lock must be one of", "doctor", "--lock", "x")
	p.refused(exitUsage, "--lock-ttl must be 100ms to 1h0m0s", "doctor", "--lock-ttl", "1ms")
	p.refused(exitUsage, "--lock-wait must be 0s to 1m0s", "doctor", "--lock-wait", "2m")
	p.refused(exitUsage, "must be table or json", "doctor", "--output", "xml")
	p.refused(exitUsage, "database must be sqlite:PATH", "doctor", "--database", "oracle:x")
}

// TestStatementBinlog: some commands would hang on a setting that the doctor reports as
// a danger. They refuse such a setting at once, in one line.
func TestStatementBinlog(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "mysql", servertest.Args("--log-bin=bin", "--server-id=1", "--binlog-format=STATEMENT"))
	p := on(t, server.URL())
	for _, args := range [][]string{
		{"migrate", "up"}, {"serve", "--listen", "127.0.0.1:0"}, {"serve", "--listen", "127.0.0.1:0", "--migrate"}, {"pool", "create", "spring"},
	} {
		p.refused(exitFailure, "the database cannot be opened: binlog-format: binlog_format = STATEMENT: the server refuses every write", args...)
	}
	o := p.run("doctor")
	require.Equal(t, exitViolation, o.code)
	require.Contains(t, o.stdout, "danger: binlog-format: binlog_format = STATEMENT while log_bin is on\n  why: ")
	require.Equal(t, exitPending, p.run("migrate", "status").code)
}

// TestDoctorTakesServesConfiguration: the doctor judges the configuration of serve,
// including the lock service and the files of secrets.
func TestDoctorTakesServesConfiguration(t *testing.T) {
	t.Parallel()
	p := on(t, stocktest.Migrated(t, "sqlite"))
	p.ok("migrate", "up")
	o := p.run("doctor", "--mode", "external", "--lock", "redis://"+servertest.ClosedAddr(t)+"/0")
	require.Equal(t, exitViolation, o.code)
	require.Contains(t, o.stdout, "danger: lock-service: the lock service redis: does not answer: ")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it accepts connections, and sends nothing
	require.NoError(t, err)
	defer silent.Close()
	for _, scheme := range []string{"redis", "etcd", "zookeeper"} {
		dead := servertest.ClosedAddr(t)
		refused := "dial tcp " + dead + ": connect: connection refused"
		for range 5 { // a busy machine may need longer than the 200 ms within which it must refuse
			if o = p.run("doctor", "--lock", scheme+"://"+dead); strings.Contains(o.stdout, refused) {
				break
			}
		}
		require.Contains(t, o.stdout, refused, scheme)
		asked := "; asked: " + silent.Addr().String()
		if scheme == "redis" {
			asked = ""
		}
		for range 5 { // a busy machine may be too late to accept the connection
			if o = p.run("doctor", "--lock", scheme+"://"+silent.Addr().String()); strings.Contains(o.stdout, asked) {
				break
			}
		}
		require.Contains(t, o.stdout, asked, scheme)
	}
	redis := servertest.Redis(t)
	require.Eventually(t, func() bool { // a busy machine may need longer than the second within which it must answer
		return !strings.Contains(p.run("doctor", "--mode", "external", "--lock", redis).stdout, "lock-service")
	}, commandMax, 10*time.Millisecond)
	p.refused(exitUsage, "--mode must be one of", "doctor", "--mode", "x")
	p.refused(exitUsage, "give --admin-token", "doctor", "--listen", "0.0.0.0:8080")

	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("a-token-of-the-tests"), 0o600))
	require.NotContains(t, p.run("doctor", "--admin-token-file", file).stdout, "file-mode: "+file)
	require.NoError(t, os.Chmod(file, 0o644))
	require.Contains(t, p.run("doctor", "--admin-token-file", file).stdout, "warning: file-mode: "+file+" has the mode 0644\n")

	tokens := filepath.Join(t.TempDir(), "tokens.json")
	entry := `{"tokens":[{"name":"a","role":"admin","sha256":"` + strings.Repeat("a", 64) + `"}]}`
	require.NoError(t, os.WriteFile(tokens, []byte(entry), 0o600))
	require.NoError(t, os.Chmod(tokens, 0o644))
	require.NotContains(t, p.run("doctor", "--tokens", tokens).stdout, "file-mode: "+tokens, "it holds digests: all may read it")
	require.NoError(t, os.Chmod(tokens, 0o664))
	require.Contains(t, p.run("doctor", "--tokens", tokens).stdout, "warning: file-mode: "+tokens+" has the mode 0664\n")
	require.Contains(t, p.run("doctor", "--tls-key", file, "--tls-cert", file).stdout, "warning: file-mode: "+file+" has the mode 0644\n")
	link := filepath.Join(t.TempDir(), "lock")
	require.NoError(t, os.WriteFile(link, []byte("table:"), 0o600))
	require.NoError(t, os.Chmod(link, 0o640))
	require.NotContains(t, p.run("doctor", "--lock-file", link).stdout, "file-mode: "+link, "its group may read it: serve does not warn either")
	require.NoError(t, os.Chmod(link, 0o660))
	require.Contains(t, p.run("doctor", "--lock-file", link).stdout, "warning: file-mode: "+link+" has the mode 0660\n")
}

// TestDoctorFindsMissingPrivileges: the doctor finds an account without write access on
// PostgreSQL.
func TestDoctorFindsMissingPrivileges(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "postgres")
	p := on(t, server.URL())
	p.ok("migrate", "up")
	db := rows(t, server.URL())
	for _, statement := range []string{
		`CREATE ROLE reader LOGIN PASSWORD 'of-the-tests'`, `GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO reader`, `REVOKE UPDATE ON pools FROM reader`,
		`GRANT DELETE ON catalogue, codes, lock_tokens TO reader`,
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	u, err := url.Parse(server.URL())
	require.NoError(t, err)
	u.User = url.UserPassword("reader", "of-the-tests")
	o := on(t, u.String()).run("doctor")
	require.Contains(t, o.stdout, "danger: privileges: this account lacks DELETE on job_runs, UPDATE on pools\n", o.message)
}

// TestDoctorFindsMissingPrivilegesOfMySQL: the doctor finds missing privileges on MySQL,
// in whatever way the other privileges were granted.
func TestDoctorFindsMissingPrivilegesOfMySQL(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "mysql")
	p := on(t, server.URL())
	p.ok("migrate", "up")
	db := rows(t, server.URL())
	u, err := url.Parse(server.URL())
	require.NoError(t, err)
	database := strings.TrimPrefix(u.Path, "/")
	as := func(name string, grants ...string) string {
		for _, statement := range append([]string{`CREATE USER '` + name + `'@'%' IDENTIFIED BY 'of-the-tests'`}, grants...) {
			_, err := db.ExecContext(t.Context(), statement)
			require.NoError(t, err, statement)
		}
		of := *u
		of.User = url.UserPassword(name, "of-the-tests")
		return on(t, of.String()).run("doctor").stdout
	}
	deletes := func(account string) (grants []string) {
		for _, table := range []string{"catalogue", "codes", "job_runs", "lock_tokens"} {
			grants = append(grants, `GRANT DELETE ON `+database+`.`+table+` TO `+account)
		}
		return grants
	}
	require.NotContains(t, as("all", append(deletes(`'all'@'%'`), `GRANT SELECT, INSERT, UPDATE ON `+database+`.* TO 'all'@'%'`)...), "privileges:")
	require.Contains(t, as("no_delete", `GRANT SELECT, INSERT, UPDATE ON `+database+`.* TO 'no_delete'@'%'`),
		"danger: privileges: this account lacks DELETE on catalogue, DELETE on codes, DELETE on job_runs, DELETE on lock_tokens\n")
	require.NotContains(t, as("by_role", `CREATE ROLE draws`, `GRANT SELECT, INSERT, UPDATE, DELETE ON `+database+`.* TO draws`,
		`GRANT draws TO 'by_role'@'%'`, `SET DEFAULT ROLE draws FOR 'by_role'@'%'`), "privileges:")
	require.Contains(t, as("reader", `GRANT SELECT ON `+database+`.* TO 'reader'@'%'`, `GRANT INSERT ON `+database+`.awards TO 'reader'@'%'`,
		`GRANT UPDATE ON `+database+`.pools TO 'reader'@'%'`), "danger: privileges: this account lacks INSERT on agenda, UPDATE on agenda, UPDATE on awards, DELETE on catalogue, INSERT on catalogue, UPDATE on catalogue, INSERT on changes, UPDATE on changes, ")
}

// TestDoctorFindsUsersThatNobodyProves: the doctor reports rules that count users if any
// caller may name any user.
func TestDoctorFindsUsersThatNobodyProves(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	const counting = `{"limits":[{"of":"draws","max":1}]}`
	for rules, isFound := range map[string]bool{counting: true, `{"tickets":true,"limits":[{"of":"draws","max":1}]}`: false, `{"blocked":["u1"]}`: false} {
		p.ok("rules", "set", "--pool", "spring", p.written("rules.json", rules))
		require.Equal(t, isFound, strings.Contains(p.ok("doctor"), "warning: users-unproven: "), rules)
	}
	p.ok("rules", "set", "--pool", "spring", p.written("rules.json", counting))
	require.Contains(t, p.ok("doctor"), "may draw as any user: spring\n")
	require.NotContains(t, p.ok("doctor", "--draw-token", "of-the-callers-0123"), "users-unproven")
	p.ok("pool", "pause", "spring")
	require.NotContains(t, p.ok("doctor"), "users-unproven", "nobody draws from it")
}
