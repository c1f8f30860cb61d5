package postgres

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/rulebook"
)

// doctor returns the check-up of a server.
func doctor() engine.Doctor {
	return engine.Doctor{
		Vitals: func(ctx context.Context, e *engine.Engine, tables []string) (engine.Vitals, error) {
			v := engine.Vitals{"pooler": string(e.Pooling), rulebook.PoolSize: strconv.Itoa(e.Connections().Max)}
			if err := rulebook.ReadVitals(ctx, e, v, vitalsQuery); err != nil {
				return v, err
			}
			return v, rulebook.ReadVitals(ctx, e, v, fmt.Sprintf(privilegesQuery, strings.Join(tables, "', '"), strings.Join(rulebook.TablesWithDeletes(), "', '")))
		},
		Rules: func() []engine.Rule {
			return slices.Concat(commitRules(), damageRules(), serviceRules(), memoryRules(), []engine.Rule{archiving(), rulebook.Connections(), rulebook.Instances(), rulebook.Privileges()})
		},
	}
}

// vitalsQuery reads the settings of the session, so that settings of a role or a database
// are included. A running base backup would look like a standby, so it is not counted.
const vitalsQuery = `SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit',
	'synchronous_standby_names', 'zero_damaged_pages', 'ignore_checksum_failure', 'default_transaction_isolation',
	'default_transaction_read_only', 'statement_timeout', 'transaction_timeout', 'checkpoint_timeout',
	'archive_mode', 'archive_command', 'archive_library')
UNION ALL SELECT name, CAST(pg_size_bytes(current_setting(name)) AS text) FROM pg_settings WHERE name IN ('shared_buffers', 'max_wal_size')
UNION ALL SELECT 'max_connections', CAST(CAST(current_setting('max_connections') AS int) - CAST(current_setting('superuser_reserved_connections') AS int) AS text)
UNION ALL SELECT 'threads_connected', CAST(count(*) AS text) FROM pg_stat_activity WHERE backend_type = 'client backend'
UNION ALL SELECT 'instances', CAST(count(DISTINCT application_name) AS text) FROM pg_stat_activity
	WHERE application_name LIKE '` + engine.ProgramPrefix + `%' AND application_name <> current_setting('application_name')
UNION ALL SELECT 'in recovery', CASE WHEN pg_is_in_recovery() THEN 'on' ELSE 'off' END
UNION ALL SELECT 'standbys', CAST(count(*) AS text) FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup'`

// privilegesQuery returns the privileges on the tables that the account lacks.
const privilegesQuery = `SELECT 'missing privileges', COALESCE(string_agg(p || ' on ' || t.tablename, ', ' ORDER BY t.tablename, p), '')
	FROM pg_tables t, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p
	WHERE t.schemaname = current_schema() AND t.tablename IN ('%s') AND (p = 'SELECT' OR t.tablename <> 'schema_admits')
	AND (p <> 'DELETE' OR t.tablename IN ('%s'))
	AND NOT has_table_privilege(quote_ident(t.schemaname) || '.' || quote_ident(t.tablename), p)`

// commitRules check that a crash or a failover loses no acknowledged draw.
func commitRules() []engine.Rule {
	return []engine.Rule{
		engine.NewRule(
			"fsync", engine.LevelDanger, rulebook.SetTo("fsync", "off"),
			"when the machine crashes or loses power, acknowledged draws are lost and the database may be corrupt",
			"set fsync = on and restart the server",
		),
		engine.NewRule(
			"full-page-writes", engine.LevelDanger, rulebook.SetTo("full_page_writes", "off"),
			"a page that was half written when the machine crashed cannot be mended: rows of acknowledged draws may be damaged unseen",
			"set full_page_writes = on, unless the file system itself never writes half a page",
		),
		engine.NewRule(
			"synchronous-commit", engine.LevelDanger,
			func(v engine.Vitals, _ engine.Serving) string {
				standbys := v["synchronous_standby_names"]
				switch {
				case v.Has("synchronous_commit", "off"):
					return "synchronous_commit = off"
				case v.Has("synchronous_commit", "local") && standbys != "":
					return fmt.Sprintf("synchronous_commit = local, although synchronous_standby_names = '%s'", standbys)
				}
				return ""
			},
			"a draw is acknowledged before its commit is where it must be: a crash, or a failover, takes the latest ones with it",
			"set synchronous_commit = on, also for the role and the database that drawsvc uses (ALTER ROLE or ALTER DATABASE … RESET synchronous_commit)",
		),
		engine.NewRule(
			"remote-write", engine.LevelWarning,
			func(v engine.Vitals, _ engine.Serving) string {
				if v.Has("synchronous_commit", "remote_write") && v["synchronous_standby_names"] != "" {
					return "synchronous_commit = remote_write"
				}
				return ""
			},
			"the standby acknowledges what it has not flushed: when both machines lose power, the latest draws are lost after a failover",
			"set synchronous_commit = on",
		),
		engine.NewRule(
			"asynchronous-standby", engine.LevelWarning,
			func(v engine.Vitals, _ engine.Serving) string {
				if v["synchronous_standby_names"] == "" && !v.Has("standbys", "", "0") {
					return v["standbys"] + " standbys are connected and synchronous_standby_names is empty"
				}
				return ""
			},
			"a commit does not wait for the standbys: a failover to one loses the draws that had not arrived there, and they may be won again",
			"name a standby in synchronous_standby_names, or do not fail over by yourself",
		).LosingVersions(),
		engine.NewRule(
			"one-standby", engine.LevelWarning,
			func(v engine.Vitals, _ engine.Serving) string {
				if v["synchronous_standby_names"] != "" && v.Has("standbys", "1") {
					return "commits wait for a standby, and only 1 is connected"
				}
				return ""
			},
			"when this standby is away, every draw is answered 503 or 504 until it is back",
			"run two standbys, with synchronous_standby_names = 'ANY 1 (…)'",
		),
	}
}

// damageRules check that a damaged page is not read as an intact one.
func damageRules() []engine.Rule {
	return []engine.Rule{
		engine.NewRule(
			"zero-damaged-pages", engine.LevelDanger, rulebook.SetTo("zero_damaged_pages", "on"),
			"a damaged page is read as empty: awards vanish without an error",
			"set zero_damaged_pages = off, restore from a backup and run `drawsvc audit`",
		),
		engine.NewRule(
			"ignore-checksum-failure", engine.LevelDanger, rulebook.SetTo("ignore_checksum_failure", "on"),
			"damaged pages are read as if they were whole: counts and awards may be wrong without an error",
			"set ignore_checksum_failure = off, restore from a backup and run `drawsvc audit`",
		),
	}
}

// serviceRules check that the service can do its work.
func serviceRules() []engine.Rule {
	return []engine.Rule{
		engine.NewRule(
			"replica", engine.LevelDanger, rulebook.SetTo("in recovery", "on"),
			"this server is a standby: nothing can be drawn here, and what is read here may be old",
			"name the primary in --database, or all hosts: postgres://USER:PASS@A,B/DB finds the one that can be written",
		),
		engine.NewRule(
			"read-only", engine.LevelDanger, rulebook.SetTo("default_transaction_read_only", "on"),
			"nothing can be drawn: every draw is answered 503",
			"set default_transaction_read_only = off for the role and the database that drawsvc uses",
		),
		engine.NewRule(
			"isolation", engine.LevelWarning, rulebook.SetTo("default_transaction_isolation", "repeatable read", "serializable"),
			"draws say READ COMMITTED themselves and are not touched, but admin calls at the same time as draws are answered 503 contended more often",
			"set default_transaction_isolation = 'read committed' for the role that drawsvc uses",
		),
		engine.NewRule(
			"pooler", engine.LevelNote,
			func(v engine.Vitals, _ engine.Serving) string {
				if v.Has("pooler", string(engine.PooledNot)) {
					return ""
				}
				return fmt.Sprintf("a proxy such as pgbouncer is in between, pooling by %s", v["pooler"])
			},
			"statements are not kept prepared, and by transaction the lock session: is refused; the settings above are those of a session that it lent",
			"none is needed; the lock row: keeps one of its server connections for each instance that holds or waits, so give it enough",
		),
		engine.NewRule(
			"statement-timeout", engine.LevelWarning,
			func(v engine.Vitals, o engine.Serving) string {
				limit := v.Shorter("statement_timeout", time.Millisecond, o.LockWait)
				if limit == "" || o.Lock != "row" && o.Lock != "session" {
					return ""
				}
				return fmt.Sprintf("%s is shorter than the wait of %s for the lock %s:", limit, o.LockWait, o.Lock)
			},
			"a wait for the lock is cut and reported as a lock that is not available, not as a pool that is busy; nothing is issued wrongly",
			"set statement_timeout = 0 for the role that drawsvc uses, which bounds its statements itself, or lower --lock-wait",
		),
		engine.NewRule(
			"transaction-timeout", engine.LevelWarning,
			func(v engine.Vitals, o engine.Serving) string {
				limit := v.Shorter("transaction_timeout", time.Millisecond, o.LockTTL)
				if limit == "" || o.Lock != "row" {
					return ""
				}
				return fmt.Sprintf("%s is shorter than the lease of %s of the lock row:", limit, o.LockTTL)
			},
			"the transaction that holds the lock is ended while draws are decided under it; their write is rejected and repeated, nothing is issued wrongly",
			"set transaction_timeout = 0 for the role that drawsvc uses, or choose the lock table:",
		),
	}
}

// archiving checks the settings that a restore to a point in time needs.
func archiving() engine.Rule {
	return engine.NewRule(
		"archiving", engine.LevelNote,
		func(v engine.Vitals, _ engine.Serving) string {
			switch mode := v["archive_mode"]; {
			case mode == "off":
				return "archive_mode = off"
			case mode != "" && v["archive_command"] == "" && v["archive_library"] == "":
				return "archive_mode = " + mode + ", and archive_command is empty"
			}
			return ""
		},
		rulebook.WhyArchive,
		"set archive_mode = on and archive_command, and restart the server; none is needed where pg_receivewal or the provider keeps the WAL",
	)
}

const (
	walDefault        = 1024 * rulebook.Mebibyte
	checkpointDefault = 300 // seconds

	whyCheckpoints = "; after it each page goes to the WAL as a whole when it is next changed: " +
		"with random keys 3 to 5 kB a draw at first, instead of 0.4"
	remedyCheckpoints = " and reload the configuration; recovery after a crash takes longer for it"
)

// memoryRules check that the service can use the machine's full speed.
func memoryRules() []engine.Rule {
	return []engine.Rule{
		engine.NewRule(
			"shared-buffers", engine.LevelNote, rulebook.NoLarger("shared_buffers", rulebook.BuffersDefault),
			rulebook.WhyBuffers+"a server with 512 MB drew about a fifth more",
			"set shared_buffers to a quarter of the machine's memory, and restart the server",
		),
		engine.NewRule(
			"max-wal-size", engine.LevelNote, rulebook.NoLarger("max_wal_size", walDefault),
			"a checkpoint begins when about half of that is written"+whyCheckpoints,
			"set max_wal_size = 4GB or more, where the disk has room,"+remedyCheckpoints,
		),
		engine.NewRule(
			"checkpoint-timeout", engine.LevelNote,
			func(v engine.Vitals, _ engine.Serving) string {
				if seconds, err := strconv.ParseInt(v["checkpoint_timeout"], 10, 64); err != nil || seconds > checkpointDefault {
					return ""
				}
				return "checkpoint_timeout = " + v["checkpoint_timeout"] + "s"
			},
			"a checkpoint begins that long after the last one at the latest"+whyCheckpoints,
			"set checkpoint_timeout = 15min or more"+remedyCheckpoints,
		),
	}
}

// sqlStandbys counts the connected standbys. An account without the right
// pg_read_all_stats cannot see their state, so a running base backup counts for it too.
const sqlStandbys = `SELECT (SELECT count(*) FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup'),
	CASE WHEN pg_is_in_recovery() OR current_setting('synchronous_commit') IN ('off', 'local') THEN '' ELSE current_setting('synchronous_standby_names') END`

// readStandbys implements Standbys of the dialect.
func readStandbys(ctx context.Context, e *engine.Engine) (s engine.Standbys, err error) {
	var names string
	err = e.Read.QueryRowContext(ctx, sqlStandbys).Scan(&s.Connected, &names)
	s.Required = requiredStandbys(names)
	return s, err
}

// method matches the beginning of synchronous_standby_names with a number: FIRST 2 (a, b, c),
// ANY 2 (a, b, c), or 2 (a, b, c).
var method = regexp.MustCompile(`(?i)^\s*(?:FIRST\s+|ANY\s+)?(\d+)\s*\(`)

// requiredStandbys returns how many standbys must confirm a commit. A list without a
// number requires one standby.
func requiredStandbys(names string) int {
	if names == "" {
		return 0
	}
	if found := method.FindStringSubmatch(names); found != nil {
		n, _ := strconv.Atoi(found[1]) // digits; the server has checked the range
		return n
	}
	return 1
}
