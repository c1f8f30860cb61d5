package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/rulebook"
)

// doctor returns the check-up of a server.
func doctor() engine.Doctor {
	return engine.Doctor{
		Vitals: readVitals,
		Rules: func() []engine.Rule {
			return slices.Concat(durabilityRules(), serviceRules(), limitsRules(), clusterRules(), memoryRules(),
				[]engine.Rule{archiving(), rulebook.Connections(), rulebook.Instances(), rulebook.Privileges()})
		},
	}
}

// readInstances counts the connected processes of drawsvc by the names of their sessions.
// If the performance schema is off, which is the default of MariaDB, it counts the hosts
// from which this account is connected.
func readInstances(ctx context.Context, e *engine.Engine, v engine.Vitals) error {
	return rulebook.ReadVitals(ctx, e, v, fmt.Sprintf(`SELECT 'instances', GREATEST(
		(SELECT COUNT(DISTINCT attr_value) FROM performance_schema.session_account_connect_attrs
			WHERE attr_name = 'program_name' AND attr_value LIKE '%s%%' AND attr_value <> '%s'),
		(SELECT COUNT(DISTINCT SUBSTRING_INDEX(host, ':', 1)) FROM information_schema.processlist
			WHERE user = SUBSTRING_INDEX(CURRENT_USER(), '@', 1) AND id <> CONNECTION_ID()))`, engine.ProgramPrefix, engine.ProgramName()))
}

// readVitals reads the vitals. SHOW VARIABLES prefers the value of the session.
func readVitals(ctx context.Context, e *engine.Engine, tables []string) (engine.Vitals, error) {
	v := engine.Vitals{"replica": "no", rulebook.PoolSize: strconv.Itoa(e.Connections().Max)}
	var err error
	for _, question := range []string{
		`SHOW VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'innodb_doublewrite', 'log_bin', 'sync_binlog', 'binlog_format',
			'read_only', 'innodb_read_only', 'autocommit', 'sql_mode', 'tx_isolation', 'transaction_isolation', 'unique_checks', 'check_constraint_checks',
			'max_statement_time', 'idle_transaction_timeout', 'idle_write_transaction_timeout', 'wsrep_on', 'wsrep_provider_options',
			'max_connections', 'innodb_buffer_pool_size', 'innodb_log_file_size', 'innodb_redo_log_capacity')`,
		`SHOW GLOBAL STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_local_state_comment',
			'Threads_connected', 'Slaves_connected', 'Rpl_semi_sync_master_status')`,
	} {
		if err := rulebook.ReadVitals(ctx, e, v, question); err != nil {
			return nil, err
		}
	}
	if !v.Has("wsrep_cluster_status", "Primary") && v.Has("wsrep_on", "ON") {
		return v, nil // a node that is cut off from its cluster answers only SHOW
	}
	if v["replica"], err = isReplica(ctx, e); err != nil {
		return nil, err
	}
	if v["missing privileges"], err = MissingPrivileges(ctx, e, tables); err != nil {
		return nil, err
	}
	if err = readInstances(ctx, e, v); err != nil {
		return nil, err
	}
	return v, rulebook.ReadVitals(ctx, e, v, `SELECT 'other engines', COALESCE(GROUP_CONCAT(table_name, ' (', engine, ')' ORDER BY table_name SEPARATOR ', '), '')
		FROM information_schema.tables WHERE table_schema = DATABASE() AND engine <> 'InnoDB' AND table_name IN ('`+strings.Join(tables, `', '`)+`')`)
}

// isReplica returns "yes" or "no", or "unknown" if the account lacks the privilege.
func isReplica(ctx context.Context, e *engine.Engine) (answer string, err error) {
	for _, question := range []string{`SHOW REPLICA STATUS`, `SHOW SLAVE STATUS`} { // the second name is for older servers
		answer, err = answers(ctx, e, question)
		if _, refused := errors.AsType[*mysql.MySQLError](err); !refused {
			return answer, err
		}
	}
	return "unknown", nil
}

// answers returns "yes" if a query returns a row, otherwise "no".
func answers(ctx context.Context, e *engine.Engine, question string) (answer string, err error) {
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

// durabilityRules check that acknowledged draws are not lost.
func durabilityRules() []engine.Rule {
	return []engine.Rule{
		engine.NewRule(
			"flush-log", engine.LevelDanger, rulebook.SetTo("innodb_flush_log_at_trx_commit", "0", "2"),
			"when the machine loses power, the draws acknowledged in the last second are lost; with 0 also when the server crashes",
			"set innodb_flush_log_at_trx_commit = 1",
		),
		engine.NewRule(
			"flush-method", engine.LevelDanger, rulebook.SetTo("innodb_flush_method", "nosync", "littlesync"),
			"the server does not wait for the disk: when the machine crashes, acknowledged draws are lost and the database may be corrupt",
			"set innodb_flush_method = O_DIRECT and restart the server",
		),
		engine.NewRule(
			"doublewrite", engine.LevelDanger, rulebook.SetTo("innodb_doublewrite", "OFF", "0", "DETECT_ONLY"),
			"a page that was half written when the machine crashed cannot be mended: rows of acknowledged draws may be damaged",
			"set innodb_doublewrite = ON and restart the server, unless the file system itself never writes half a page",
		),
		engine.NewRule(
			"sync-binlog", engine.LevelDanger,
			func(v engine.Vitals, _ engine.Serving) string {
				if v.Has("log_bin", "ON", "1") && !v.Has("sync_binlog", "1") {
					return "sync_binlog = " + v["sync_binlog"] + " while log_bin is on"
				}
				return ""
			},
			"after a crash of the machine the server takes back what is not in its binary log, acknowledged draws among it, or replicas miss them",
			"set sync_binlog = 1",
		),
		engine.NewRule(
			"engine", engine.LevelDanger,
			func(v engine.Vitals, _ engine.Serving) string {
				if v["other engines"] != "" {
					return "not InnoDB: " + v["other engines"]
				}
				return ""
			},
			"these tables know no transactions: a draw that fails leaves half of itself, and can be issued again",
			"stop the service, ALTER TABLE … ENGINE = InnoDB, then run `drawsvc audit`",
		),
		engine.NewRule(
			"asynchronous-replica", engine.LevelWarning,
			func(v engine.Vitals, _ engine.Serving) string {
				if !v.Has("slaves_connected", "", "0") && !v.Has("rpl_semi_sync_master_status", "ON") {
					return v["slaves_connected"] + " replicas are connected, none of them semi-synchronously"
				}
				return ""
			},
			"a commit does not wait for the replicas: a failover to one loses the draws that had not arrived there, and they may be won again",
			"turn semi-synchronous replication on (rpl_semi_sync_master_enabled), or do not fail over by yourself",
		).LosingVersions(),
	}
}

// serviceRules check that the service can do its work, and that its settings are in force
// in its sessions.
func serviceRules() []engine.Rule {
	return []engine.Rule{
		engine.NewRule(
			"replica", engine.LevelDanger,
			func(v engine.Vitals, _ engine.Serving) string {
				if v["replica"] == "yes" {
					return "this server replicates from another"
				}
				return ""
			},
			"draws belong to the primary: written here they are on this server alone, and can meet the same units drawn there",
			"name the primary in --database",
		),
		engine.NewRule(
			"replica-unknown", engine.LevelNote,
			func(v engine.Vitals, _ engine.Serving) string {
				if v["replica"] == "unknown" {
					return "this account may not ask whether the server is a replica"
				}
				return ""
			},
			"on a replica nothing may be drawn", "GRANT REPLICA MONITOR (MySQL: REPLICATION CLIENT) to the account that runs this command",
		),
		engine.NewRule(
			"binlog-format", engine.LevelDanger,
			func(v engine.Vitals, _ engine.Serving) string {
				if v.Has("log_bin", "ON", "1") && v.Has("binlog_format", "STATEMENT") {
					return "binlog_format = STATEMENT while log_bin is on"
				}
				return ""
			},
			"the service works at READ COMMITTED, where InnoDB cannot log statements: INSERT, UPDATE, DELETE and SELECT … FOR UPDATE fail "+
				"with error 1665 (CREATE, ALTER and plain SELECT do not), so `serve`, `migrate up` and every command that writes refuse to start",
			"set binlog_format = ROW (MIXED will do too) in the server's configuration, and globally for the sessions to come",
		),
		engine.NewRule(
			"read-only", engine.LevelDanger,
			func(v engine.Vitals, o engine.Serving) string {
				return rulebook.SetTo("read_only", "ON", "1")(v, o) + rulebook.SetTo("innodb_read_only", "ON", "1")(v, o)
			},
			"nothing can be drawn: every draw is answered 503",
			"name the server that is written, or all: mysql://USER:PASS@A,B/DB finds it",
		),
		engine.NewRule(
			"session", engine.LevelDanger,
			func(v engine.Vitals, _ engine.Serving) string {
				var wrong []string
				if isolation := v["tx_isolation"] + v["transaction_isolation"]; !strings.Contains(isolation, "READ-COMMITTED") {
					wrong = append(wrong, "isolation "+isolation)
				}
				if !v.Has("autocommit", "ON", "1") {
					wrong = append(wrong, "autocommit "+v["autocommit"])
				}
				if !strings.Contains(v["sql_mode"], "STRICT_ALL_TABLES") {
					wrong = append(wrong, "sql_mode "+v["sql_mode"])
				}
				return strings.Join(wrong, ", ")
			},
			"the service sets READ COMMITTED, autocommit and strict mode for each of its sessions, and something in between undoes that",
			"connect past the proxy, or configure it to keep one server session for one client session",
		),
		engine.NewRule(
			"checks", engine.LevelDanger,
			func(v engine.Vitals, o engine.Serving) string {
				return strings.TrimSpace(rulebook.SetTo("unique_checks", "OFF", "0")(v, o) + " " + rulebook.SetTo("check_constraint_checks", "OFF", "0")(v, o))
			},
			"the schema does not guard itself: that a key wins once, and that no more is issued than stocked, rests on the service alone",
			"set both variables to ON",
		),
	}
}

// limitsRules check that the server's time limits do not break the locks.
func limitsRules() []engine.Rule {
	return []engine.Rule{
		engine.NewRule(
			"statement-time", engine.LevelWarning,
			func(v engine.Vitals, o engine.Serving) string {
				limit := v.Shorter("max_statement_time", time.Second, o.LockWait)
				if limit == "" || o.Lock != "row" { // a wait for GET_LOCK that is cut looks like a lock that another session holds
					return ""
				}
				return fmt.Sprintf("%s is shorter than the wait of %s for the lock row:", limit, o.LockWait)
			},
			"a wait for the lock is cut and reported as a lock that is not available, not as a pool that is busy; nothing is issued wrongly",
			"set max_statement_time = 0 for the account that drawsvc uses, or lower --lock-wait",
		),
		engine.NewRule(
			"idle-transaction", engine.LevelWarning,
			func(v engine.Vitals, o engine.Serving) string {
				// A holder sends a statement in each third of its lease.
				limit := v.Shorter("idle_transaction_timeout", time.Second, o.LockTTL/3+time.Second)
				if limit == "" {
					limit = v.Shorter("idle_write_transaction_timeout", time.Second, o.LockTTL/3+time.Second)
				}
				if limit == "" || o.Lock != "row" {
					return ""
				}
				return fmt.Sprintf("%s is too short for the lease of %s of the lock row:", limit, o.LockTTL)
			},
			"the transaction that holds the lock is ended between two renewals; the write under it is refused and repeated, nothing is issued wrongly",
			"raise it above a third of --lock-ttl, or choose the lock table:",
		),
	}
}

// archiving checks the settings that a restore to a point in time needs.
func archiving() engine.Rule {
	return engine.NewRule(
		"archiving", engine.LevelNote, rulebook.SetTo("log_bin", "OFF", "0"), rulebook.WhyArchive,
		"set log_bin and sync_binlog = 1, and copy the binary logs away; none is needed where the provider keeps them",
	)
}

// redoDefault is the default size of MySQL's redo log; MariaDB's default is 96 MB.
const redoDefault = 100 * rulebook.Mebibyte

// memoryRules check that the service can use the machine's full speed.
func memoryRules() []engine.Rule {
	return []engine.Rule{
		engine.NewRule(
			"buffer-pool", engine.LevelNote, rulebook.NoLarger("innodb_buffer_pool_size", rulebook.BuffersDefault),
			rulebook.WhyBuffers+"a server with 128 MB wrote 23 kB of pages a draw; one with 512 MB wrote 0.2 kB and drew half as much again or more",
			"set innodb_buffer_pool_size to half of the machine's memory or more",
		),
		engine.NewRule(
			"redo-log", engine.LevelNote,
			func(v engine.Vitals, o engine.Serving) string {
				if v["innodb_redo_log_capacity"] != "" { // if this is set, since MySQL 8.0.30, the server ignores the older variable
					return rulebook.NoLarger("innodb_redo_log_capacity", redoDefault)(v, o)
				}
				return rulebook.NoLarger("innodb_log_file_size", redoDefault)(v, o)
			},
			"changed pages have to be written out before the log comes round: with random keys at 2 million awards 1.3 kB a draw, "+
				"and 0.2 kB with a log of 512 MB",
			"set innodb_log_file_size (MySQL 8.0.30 and later: innodb_redo_log_capacity) to 512 MB or more",
		),
	}
}

// clustered returns a check that calls broken, but only on a node of a Galera cluster.
func clustered(broken func(v engine.Vitals, o engine.Serving) string) func(engine.Vitals, engine.Serving) string {
	return func(v engine.Vitals, o engine.Serving) string {
		if !v.Has("wsrep_on", "ON", "1") {
			return ""
		}
		return broken(v, o)
	}
}

// clusterRules are the rules of Galera.
func clusterRules() []engine.Rule {
	return []engine.Rule{
		engine.NewRule(
			"galera-quorum", engine.LevelDanger,
			clustered(func(v engine.Vitals, _ engine.Serving) string {
				for _, option := range []string{"pc.ignore_sb", "pc.ignore_quorum"} {
					for setting := range strings.SplitSeq(v["wsrep_provider_options"], ";") {
						name, value, _ := strings.Cut(setting, "=")
						if strings.TrimSpace(name) == option && strings.TrimSpace(value) == "true" {
							return option + " = true"
						}
					}
				}
				return ""
			}),
			"the halves of a cluster that was cut in two both go on: each issues what the other issues, and one of them is thrown away when they meet",
			"set it to false in wsrep_provider_options; two nodes need an arbitrator (garbd)",
		),
		engine.NewRule(
			"galera-not-primary", engine.LevelDanger,
			clustered(rulebook.NotSetTo("wsrep_cluster_status", "Primary")),
			"the node is cut off from its cluster: nothing can be drawn here, and what is read here may be old",
			"bring its cluster together, or name another node in --database",
		),
		engine.NewRule(
			"galera-not-synced", engine.LevelWarning,
			clustered(rulebook.NotSetTo("wsrep_local_state_comment", "Synced")),
			"the node lags behind its cluster, or serves another as donor: draws are slow here and conflict more often",
			"wait until it is Synced, or name another node first in --database",
		),
		engine.NewRule(
			"galera-writers", engine.LevelWarning,
			clustered(func(v engine.Vitals, _ engine.Serving) string {
				if v.Has("wsrep_cluster_size", "", "0", "1") {
					return ""
				}
				return fmt.Sprintf("wsrep_on = ON in a cluster of %s nodes, each of which can be written", v["wsrep_cluster_size"])
			}),
			"instances that write through different nodes meet at COMMIT as deadlocks, which are retried: nothing is issued twice, but each conflict costs a batch",
			"name the nodes in the same order in every instance's --database, so that all write to one",
		),
		engine.NewRule(
			"galera-lock", engine.LevelWarning,
			clustered(func(_ engine.Vitals, o engine.Serving) string {
				if o.Lock != "row" && o.Lock != "session" {
					return ""
				}
				return fmt.Sprintf("the lock %s: is held on one node only", o.Lock)
			}),
			"instances on different nodes do not see each other's lock; the guarded write still decides, at the price of conflicts",
			"choose the lock table:, or let all instances write to one node",
		),
	}
}
