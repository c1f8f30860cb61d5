package tidb

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/mysql"
	"drawsvc/internal/stock/rulebook"
)

// doctor returns the check-up of a cluster. The server also lists settings of InnoDB, for
// clients of MySQL, but they have no effect.
func doctor() engine.Doctor { return engine.Doctor{Vitals: readVitals, Rules: rules} }

// The names of vitals that are not variables.
const (
	vitalVersion  = "version"
	vitalChecks   = "checks"
	vitalTables   = "tables"
	vitalStore    = "store"
	vitalReplicas = "max-replicas"
)

// readVitals reads the vitals. SHOW VARIABLES prefers the value of the session.
func readVitals(ctx context.Context, e *engine.Engine, tables []string) (engine.Vitals, error) {
	v := engine.Vitals{}
	for _, question := range []string{
		`SHOW VARIABLES WHERE Variable_name IN ('` + checksVariable + `', 'tidb_txn_mode', 'tidb_constraint_check_in_place_pessimistic',
			'tidb_guarantee_linearizability', 'tidb_low_resolution_tso', 'tidb_enable_external_ts_read', 'tidb_read_staleness',
			'tidb_restricted_read_only', 'tidb_super_read_only',
			'autocommit', 'sql_mode', 'transaction_isolation', 'foreign_key_checks', 'max_connections')`,
		`SELECT '` + vitalVersion + `', VERSION()`,
		`SELECT '` + vitalStore + `', TIDB_VERSION()`,
		`SELECT 'threads_connected', COUNT(*) FROM information_schema.processlist`,
		`SELECT '` + vitalChecks + `', COALESCE(GROUP_CONCAT(constraint_name), '') FROM information_schema.check_constraints WHERE constraint_schema = DATABASE()`,
		`SELECT '` + vitalTables + `', COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ('pools', 'prizes')`,
	} {
		if err := rulebook.ReadVitals(ctx, e, v, question); err != nil {
			return nil, err
		}
	}
	if v["max_connections"] == "0" { // no limit
		delete(v, "max_connections")
	}
	readCluster(ctx, e, v)
	var err error
	v["missing privileges"], err = mysql.MissingPrivileges(ctx, e, tables)
	return v, err
}

// readCluster adds a setting that only a cluster has, and that only an account with the
// right CONFIG may read. Without that right, the rule on it has no finding.
func readCluster(ctx context.Context, e *engine.Engine, v engine.Vitals) {
	values, _ := engine.QueryAll(ctx, e.Read, func(row engine.Scanner) (value string, err error) {
		return value, row.Scan(new(string), new(string), new(string), &value)
	}, `SHOW CONFIG WHERE type = 'pd' AND name = 'replication.max-replicas'`)
	for _, value := range values {
		v[vitalReplicas] = value
	}
}

// guards returns the CHECK constraints that law 2 depends on.
func guards() []string { return []string{"issued_within_stock", "pool_version"} }

// rules returns the rules of a cluster.
func rules() []engine.Rule {
	return slices.Concat(checkRules(), sessionRules(), clusterRules(), []engine.Rule{rulebook.Connections(), rulebook.Privileges()})
}

// checkRules check that the database enforces the constraints of the schema.
func checkRules() []engine.Rule {
	const why = "the schema does not guard itself: that no more is issued than stocked rests on the service alone"
	return []engine.Rule{
		engine.NewRule(
			"checks", engine.LevelDanger, rulebook.SetTo(checksVariable, "OFF", "0"),
			"TiDB reads CHECK constraints and drops them: after a migration "+why+"; `migrate up` refuses",
			"SET GLOBAL "+checksVariable+" = ON",
		),
		engine.NewRule(
			"checks-missing", engine.LevelDanger,
			func(v engine.Vitals, _ engine.Serving) string {
				if v[vitalTables] != "2" {
					return "" // nothing is migrated yet
				}
				there := strings.Split(v[vitalChecks], ",")
				lost := slices.DeleteFunc(guards(), func(name string) bool { return slices.Contains(there, name) })
				if len(lost) == 0 {
					return ""
				}
				return "missing CHECK constraint: " + strings.Join(lost, ", ")
			},
			why,
			"the schema was migrated while "+checksVariable+" was OFF: set it to ON, migrate an empty database, and move the rows there",
		),
	}
}

// sessionRules check that the sessions have the service's settings.
func sessionRules() []engine.Rule {
	return []engine.Rule{
		engine.NewRule(
			"session", engine.LevelDanger,
			func(v engine.Vitals, _ engine.Serving) string {
				var wrong []string
				for name, want := range map[string]string{
					"transaction_isolation": "READ-COMMITTED", "autocommit": "ON", "foreign_key_checks": "ON", "tidb_txn_mode": "pessimistic",
					"tidb_constraint_check_in_place_pessimistic": "ON", "tidb_guarantee_linearizability": "ON",
					"tidb_low_resolution_tso": "OFF", "tidb_enable_external_ts_read": "OFF", "tidb_read_staleness": "0",
				} {
					if !v.Has(name, want) {
						wrong = append(wrong, name+" "+v[name])
					}
				}
				if !strings.Contains(v["sql_mode"], "STRICT_ALL_TABLES") {
					wrong = append(wrong, "sql_mode "+v["sql_mode"])
				}
				slices.Sort(wrong)
				return strings.Join(wrong, ", ")
			},
			"the service sets these for each of its sessions, and something in between undoes that: it may read an older state, or hold no row",
			"connect past the proxy, or configure it to keep one server session for one client session",
		),
		engine.NewRule(
			"read-only", engine.LevelDanger,
			func(v engine.Vitals, o engine.Serving) string {
				return rulebook.SetTo("tidb_restricted_read_only", "ON", "1")(v, o) + rulebook.SetTo("tidb_super_read_only", "ON", "1")(v, o)
			},
			"nothing can be drawn: every draw is answered 503", "set both variables to OFF, or name the cluster that is written",
		),
	}
}

// oldest is the oldest version that is supported, as major and minor number.
const oldestMajor, oldestMinor = 8, 4

// clusterRules check that the cluster keeps what it acknowledges.
func clusterRules() []engine.Rule {
	return []engine.Rule{
		engine.NewRule(
			"version", engine.LevelWarning,
			func(v engine.Vitals, _ engine.Serving) string {
				_, number, _ := strings.Cut(v[vitalVersion], "-TiDB-v")
				var major, minor int
				if n, _ := fmt.Sscanf(number, "%d.%d", &major, &minor); n == 2 && (major > oldestMajor || major == oldestMajor && minor >= oldestMinor) {
					return ""
				}
				return "VERSION() = " + v[vitalVersion]
			},
			"the service is tested with TiDB 8.4: older versions may refuse statements, or lack settings that it relies on",
			"upgrade the cluster to 8.4 or later",
		),
		engine.NewRule(
			"one-store", engine.LevelDanger,
			func(v engine.Vitals, _ engine.Serving) string {
				_, store, _ := strings.Cut(v[vitalStore], "Store: ")
				if store, _, _ = strings.Cut(store, "\n"); store == "tikv" || store == "" {
					return ""
				}
				return "the server keeps its rows in a store of its own (" + store + "), not in TiKV"
			},
			"that store is for tests: it has one copy, and does not promise to keep what it acknowledged when the machine fails",
			"use a cluster of PD and TiKV for draws that count",
		),
		engine.NewRule(
			"replicas", engine.LevelDanger,
			func(v engine.Vitals, _ engine.Serving) string {
				n, err := strconv.Atoi(v[vitalReplicas])
				if err != nil || n >= 3 {
					return ""
				}
				return fmt.Sprintf("replication.max-replicas = %d", n)
			},
			"a region with fewer than three copies is lost, or cannot be written, when one store fails: acknowledged draws are lost with it",
			"pd-ctl config set max-replicas 3, with three stores or more",
		).LosingVersions(),
	}
}
