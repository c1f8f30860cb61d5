package checkup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"drawsvc/internal/stock"
	"drawsvc/internal/stock/engine"
)

func mysqlDoctor() doctor {
	return doctor{
		vitals: mysqlVitals,
		rules: func() []rule {
			return slices.Concat(mysqlDurability(), mysqlService(), mysqlLimits(), mysqlCluster(), mysqlMemory(), []rule{connections(), privileges()})
		},
	}
}

// mysqlVitals: SHOW VARIABLES gives the session's value where there is one.
func mysqlVitals(ctx context.Context, e *engine.Engine) (vitals, error) {
	v := vitals{"replica": "no"}
	var err error
	for _, question := range []string{
		`SHOW VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'innodb_doublewrite', 'log_bin', 'sync_binlog', 'binlog_format',
			'read_only', 'innodb_read_only', 'autocommit', 'sql_mode', 'tx_isolation', 'transaction_isolation', 'unique_checks', 'check_constraint_checks',
			'max_statement_time', 'idle_transaction_timeout', 'idle_write_transaction_timeout', 'wsrep_on', 'wsrep_provider_options',
			'max_connections', 'innodb_buffer_pool_size', 'innodb_log_file_size', 'innodb_redo_log_capacity')`,
		`SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_local_state_comment',
			'Threads_connected', 'Slaves_connected', 'Rpl_semi_sync_master_status')`,
	} {
		if err := readVitals(ctx, e, v, question); err != nil {
			return nil, err
		}
	}
	if !v.has("wsrep_cluster_status", "Primary") && v.has("wsrep_on", "ON") {
		return v, nil // a node that is cut off answers nothing but SHOW
	}
	if v["replica"], err = mysqlReplica(ctx, e); err != nil {
		return nil, err
	}
	if v["missing privileges"], err = mysqlPrivileges(ctx, e); err != nil {
		return nil, err
	}
	return v, readVitals(ctx, e, v, `SELECT 'other engines', COALESCE(GROUP_CONCAT(table_name, ' (', engine, ')' ORDER BY table_name SEPARATOR ', '), '')
		FROM information_schema.tables WHERE table_schema = DATABASE() AND engine <> 'InnoDB' AND table_name IN ('`+strings.Join(stock.Tables(), `', '`)+`')`)
}

// mysqlReplica says "yes", "no", or "unknown" to an account that may not ask.
func mysqlReplica(ctx context.Context, e *engine.Engine) (answer string, err error) {
	for _, question := range []string{`SHOW REPLICA STATUS`, `SHOW SLAVE STATUS`} { // the older name for older servers
		answer, err = mysqlAnswers(ctx, e, question)
		if _, refused := errors.AsType[*mysql.MySQLError](err); !refused {
			return answer, err
		}
	}
	return "unknown", nil
}

// mysqlAnswers says whether a question has an answer, "yes" or "no".
func mysqlAnswers(ctx context.Context, e *engine.Engine, question string) (answer string, err error) {
	rows, err := e.Read.QueryContext(ctx, question)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	answer = "no"
	if rows.Next() {
		answer = "yes"
	}
	return answer, rows.Err()
}

// mysqlDurability: a draw that was answered stays.
func mysqlDurability() []rule {
	return []rule{
		{
			"flush-log", LevelDanger, setTo("innodb_flush_log_at_trx_commit", "0", "2"),
			"when the machine loses power, the draws acknowledged in the last second are lost; with 0 also when the server crashes",
			"set innodb_flush_log_at_trx_commit = 1",
		},
		{
			"flush-method", LevelDanger, setTo("innodb_flush_method", "nosync", "littlesync"),
			"the server does not wait for the disk: when the machine crashes, acknowledged draws are lost and the database may be corrupt",
			"set innodb_flush_method = O_DIRECT and restart the server",
		},
		{
			"doublewrite", LevelDanger, setTo("innodb_doublewrite", "OFF", "0", "DETECT_ONLY"),
			"a page that was half written when the machine crashed cannot be mended: rows of acknowledged draws may be damaged",
			"set innodb_doublewrite = ON and restart the server, unless the file system itself never writes half a page",
		},
		{
			"sync-binlog", LevelDanger,
			func(v vitals, _ Options) string {
				if v.has("log_bin", "ON", "1") && !v.has("sync_binlog", "1") {
					return "sync_binlog = " + v["sync_binlog"] + " while log_bin is on"
				}
				return ""
			},
			"after a crash of the machine the server takes back what is not in its binary log, acknowledged draws among it, or replicas miss them",
			"set sync_binlog = 1",
		},
		{
			"engine", LevelDanger,
			func(v vitals, _ Options) string {
				if v["other engines"] != "" {
					return "not InnoDB: " + v["other engines"]
				}
				return ""
			},
			"these tables know no transactions: a draw that fails leaves half of itself, and can be issued again",
			"stop the service, ALTER TABLE … ENGINE = InnoDB, then run `drawsvc audit`",
		},
		{
			asynchronousReplica, LevelWarning,
			func(v vitals, _ Options) string {
				if !v.has("slaves_connected", "", "0") && !v.has("rpl_semi_sync_master_status", "ON") {
					return v["slaves_connected"] + " replicas are connected, none of them semi-synchronously"
				}
				return ""
			},
			"a commit does not wait for the replicas: whoever fails over to one loses the draws that had not arrived there, and they may be won again",
			"turn semi-synchronous replication on (rpl_semi_sync_master_enabled), or do not fail over by yourself",
		},
	}
}

// mysqlService: the service can do its work, and its sessions are as it set them.
func mysqlService() []rule {
	return []rule{
		{
			"replica", LevelDanger,
			func(v vitals, _ Options) string {
				if v["replica"] == "yes" {
					return "this server replicates from another"
				}
				return ""
			},
			"draws belong to the primary: written here they are on this server alone, and can meet the same units drawn there",
			"name the primary in --database",
		},
		{
			"replica-unknown", LevelNote,
			func(v vitals, _ Options) string {
				if v["replica"] == "unknown" {
					return "this account may not ask whether the server is a replica"
				}
				return ""
			},
			"on a replica nothing may be drawn", "GRANT REPLICA MONITOR (MySQL: REPLICATION CLIENT) to the account that runs this command",
		},
		{
			"binlog-format", LevelDanger,
			func(v vitals, _ Options) string {
				if v.has("log_bin", "ON", "1") && v.has("binlog_format", "STATEMENT") {
					return "binlog_format = STATEMENT while log_bin is on"
				}
				return ""
			},
			"the service works at READ COMMITTED, where InnoDB cannot log statements: INSERT, UPDATE, DELETE and SELECT … FOR UPDATE fail " +
				"with error 1665 (CREATE, ALTER and plain SELECT do not), so `serve`, `migrate up` and every command that writes refuse to start",
			"set binlog_format = ROW (MIXED will do too) in the server's configuration, and globally for the sessions to come",
		},
		{
			"read-only", LevelDanger,
			func(v vitals, o Options) string {
				return setTo("read_only", "ON", "1")(v, o) + setTo("innodb_read_only", "ON", "1")(v, o)
			},
			"nothing can be drawn: every draw is answered 503",
			"name the server that is written, or all: mysql://USER:PASS@A,B/DB finds it",
		},
		{
			"session", LevelDanger,
			func(v vitals, _ Options) string {
				var wrong []string
				if isolation := v["tx_isolation"] + v["transaction_isolation"]; !strings.Contains(isolation, "READ-COMMITTED") {
					wrong = append(wrong, "isolation "+isolation)
				}
				if !v.has("autocommit", "ON", "1") {
					wrong = append(wrong, "autocommit "+v["autocommit"])
				}
				if !strings.Contains(v["sql_mode"], "STRICT_ALL_TABLES") {
					wrong = append(wrong, "sql_mode "+v["sql_mode"])
				}
				return strings.Join(wrong, ", ")
			},
			"the service sets READ COMMITTED, autocommit and strict mode for each of its sessions, and something in between undoes that",
			"connect past the proxy, or configure it to keep one server session for one client session",
		},
		{
			"checks", LevelDanger,
			func(v vitals, o Options) string {
				return strings.TrimSpace(setTo("unique_checks", "OFF", "0")(v, o) + " " + setTo("check_constraint_checks", "OFF", "0")(v, o))
			},
			"the schema does not guard itself: that a key wins once, and that no more is issued than stocked, rests on the service alone",
			"set both variables to ON",
		},
	}
}

// mysqlLimits: the server's time limits leave the locks alone.
func mysqlLimits() []rule {
	return []rule{
		{
			"statement-time", LevelWarning,
			func(v vitals, o Options) string {
				limit := v.shorter("max_statement_time", time.Second, o.LockWait)
				if limit == "" || o.Lock != "row" { // GET_LOCK answers that the lock is another's
					return ""
				}
				return fmt.Sprintf("%s is shorter than the wait of %s for the lock row:", limit, o.LockWait)
			},
			"a wait for the lock is cut and reported as a lock that is not available, not as a pool that is busy; nothing is issued wrongly",
			"set max_statement_time = 0 for the account that drawsvc uses, or lower --lock-wait",
		},
		{
			"idle-transaction", LevelWarning,
			func(v vitals, o Options) string {
				// A holder says something each third of its lease.
				limit := v.shorter("idle_transaction_timeout", time.Second, o.LockTTL/3+time.Second)
				if limit == "" {
					limit = v.shorter("idle_write_transaction_timeout", time.Second, o.LockTTL/3+time.Second)
				}
				if limit == "" || o.Lock != "row" {
					return ""
				}
				return fmt.Sprintf("%s is too short for the lease of %s of the lock row:", limit, o.LockTTL)
			},
			"the transaction that holds the lock is ended between two renewals; the write under it is refused and repeated, nothing is issued wrongly",
			"raise it above a third of --lock-ttl, or choose the lock table:",
		},
	}
}
