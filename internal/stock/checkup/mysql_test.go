package checkup_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

func TestDoctorOfMySQL(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "mysql", servertest.Durable(), servertest.Roomy(), servertest.Archived())
	global := func(setting, value, was, lock, want string) ailment {
		return ailment{
			make: []string{`SET GLOBAL ` + setting + ` = ` + value}, mend: []string{`SET GLOBAL ` + setting + ` = ` + was}, lock: lock, want: want,
		}
	}
	testAilments(t, server.URL(), nil, []ailment{
		global("innodb_flush_log_at_trx_commit", "2", "1", "", "danger flush-log: innodb_flush_log_at_trx_commit = 2"),
		global("innodb_flush_log_at_trx_commit", "0", "1", "", "danger flush-log: innodb_flush_log_at_trx_commit = 0"),
		global("sync_binlog", "0", "1", "", "danger sync-binlog: sync_binlog = 0 while log_bin is on"),
		{
			[]string{`ALTER TABLE codes DROP INDEX code_once`}, []string{`ALTER TABLE codes ADD CONSTRAINT code_once UNIQUE (digest)`}, "",
			"danger codes-not-unique: the table codes has no unique constraint code_once",
		},
		global("read_only", "ON", "OFF", "", "danger read-only: read_only = ON"),
		global("unique_checks", "OFF", "ON", "", "danger checks: unique_checks = OFF"),
		global("check_constraint_checks", "OFF", "ON", "", "danger checks: check_constraint_checks = OFF"),
		global("max_statement_time", "1.5", "0", "row",
			"warning statement-time: max_statement_time = 1.5s is shorter than the wait of 2s for the lock row:"),
		global("idle_transaction_timeout", "4", "0", "row",
			"warning idle-transaction: idle_transaction_timeout = 4s is too short for the lease of 10s of the lock row:"),
		global("idle_write_transaction_timeout", "3", "0", "row",
			"warning idle-transaction: idle_write_transaction_timeout = 3s is too short for the lease of 10s of the lock row:"),
		{
			[]string{`ALTER TABLE awards ENGINE = Aria`, `ALTER TABLE moves ENGINE = MyISAM`},
			[]string{`ALTER TABLE awards ENGINE = InnoDB`, `ALTER TABLE moves ENGINE = InnoDB`}, "",
			"danger engine: not InnoDB: awards (Aria), moves (MyISAM)",
		},
	})
	s := stocktest.Open(t, server.URL(), stock.Options{})
	stocktest.ExecAll(t, s, []string{`SET GLOBAL autocommit = 0`, `SET GLOBAL sql_mode = 'ORACLE'`, `SET GLOBAL tx_isolation = 'SERIALIZABLE'`})
	require.Empty(t, checkUp(t, server.URL(), usual("row")), "the service sets these for its own sessions")
}

// TestDoctorOfMySQLByOthers: the account has few rights, and the server changes the clock
// of each session when it begins.
func TestDoctorOfMySQLByOthers(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "mysql", servertest.Durable(), servertest.Roomy(), servertest.Archived())
	s := stocktest.Open(t, server.URL(), stock.Options{})
	stocktest.ExecAll(t, s, []string{
		`CREATE USER app IDENTIFIED BY 'app-password'`, `GRANT SELECT, INSERT, UPDATE, DELETE ON drawsvc.* TO app`,
		`SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP() + 3600'`, // is not executed for administrators
	})
	app := "mysql://app:app-password@" + server.Addr() + "/drawsvc"
	const unknown = "note replica-unknown: this account may not ask whether the server is a replica"
	found := checkUp(t, app, usual("table"))
	require.Len(t, found, 2)
	// In such a session, the clock stands at the time at which the session began.
	require.Regexp(t, `^danger clock: the database's clock is (1h0m0|5\dm\d+)s ahead of this machine's$`, found[0])
	require.Equal(t, unknown, found[1])
	stocktest.ExecAll(t, s, []string{`SET GLOBAL init_connect = ''`})
	require.Equal(t, []string{unknown}, checkUp(t, app, usual("table")))
}

func TestDoctorOfMySQLReplicas(t *testing.T) {
	t.Parallel()
	primary := servertest.Start(t, "mysql", servertest.Roomy(), servertest.Args("--log-bin=bin", "--server-id=1"))
	replica := servertest.Start(t, "mysql", servertest.Roomy(), servertest.Args("--server-id=2"))
	stocktest.Open(t, primary.URL(), stock.Options{})
	s, err := stock.Open(t.Context(), replica.URL(), stock.Options{})
	require.NoError(t, err)
	defer s.Close()
	password, err := os.ReadFile(filepath.Join(primary.Dir(), "password"))
	require.NoError(t, err)
	host, port, _ := strings.Cut(primary.Addr(), ":")
	stocktest.ExecAll(t, s, []string{
		fmt.Sprintf(`CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %s, MASTER_USER = 'drawsvc', MASTER_PASSWORD = '%s', MASTER_USE_GTID = current_pos`,
			host, port, password),
		`START SLAVE`,
	})
	fast := []string{ // every server of the tests has these findings, because it is fast and not durable
		"danger flush-log: innodb_flush_log_at_trx_commit = 2", "danger flush-method: innodb_flush_method = nosync",
		"danger doublewrite: innodb_doublewrite = OFF",
	}
	want := append(fast, "danger replica: this server replicates from another", "note archiving: log_bin = OFF")
	awaitFindings(t, replica.URL(), want) // the schema comes from the primary
	want = append(fast, "danger sync-binlog: sync_binlog = 0 while log_bin is on",
		"warning asynchronous-replica: 1 replicas are connected, none of them semi-synchronously")
	awaitFindings(t, primary.URL(), want)
}

func TestDoctorOfGalera(t *testing.T) {
	t.Parallel()
	nodes := servertest.StartGalera(t, 2, servertest.Durable(), servertest.Roomy(), servertest.Archived())
	url := nodes[0].URL()
	s := stocktest.Open(t, url, stock.Options{})
	const writers = "warning galera-writers: wsrep_on = ON in a cluster of 2 nodes, each of which can be written"
	require.Equal(t, []string{writers}, checkUp(t, url, usual("table")))
	require.Equal(t, []string{writers, "warning galera-lock: the lock session: is held on one node only"}, checkUp(t, url, usual("session")))
	stocktest.ExecAll(t, s, []string{`SET GLOBAL wsrep_provider_options = 'pc.ignore_quorum=true'`})
	require.Equal(t, []string{"danger galera-quorum: pc.ignore_quorum = true", writers}, checkUp(t, url, usual("table")))
	stocktest.ExecAll(t, s, []string{`SET GLOBAL wsrep_provider_options = 'pc.ignore_quorum=false'`})

	nodes[1].Kill() // without it the other node has no majority
	awaitFindings(t, url, []string{
		"danger galera-not-primary: wsrep_cluster_status = non-Primary", "warning galera-not-synced: wsrep_local_state_comment = Initialized",
	})
	stocktest.ExecAll(t, s, []string{`SET GLOBAL wsrep_provider_options = 'pc.bootstrap=true'`})
	awaitFindings(t, url, []string{}) // one server, without findings
}
