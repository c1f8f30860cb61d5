package tidb

import (
	"context"
	"fmt"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/mysql"
)

// TestErrorsOfTheClusterHaveTheirClass checks errors before the commit and at the commit,
// where a cluster that does not answer may have committed. The broken double is MySQL's
// table, which lacks these errors: a draw would be answered with 500.
func TestErrorsOfTheClusterHaveTheirClass(t *testing.T) {
	for _, c := range []struct {
		number     uint16
		reason     string
		want, late engine.Class
	}{
		{8002, "write-conflict", engine.ClassConflict, engine.ClassConflict},
		{8005, "write-conflict", engine.ClassConflict, engine.ClassConflict},
		{8022, "write-conflict", engine.ClassConflict, engine.ClassConflict},
		{9007, "write-conflict", engine.ClassConflict, engine.ClassConflict},
		{8028, "schema", engine.ClassConflict, engine.ClassConflict},
		{8229, "lock-expired", engine.ClassConflict, engine.ClassConflict},
		{9004, engine.ReasonLockWait, engine.ClassConflict, engine.ClassConflict},
		{8027, "cluster", engine.ClassUnavailable, engine.ClassUnknown},
		{8120, "cluster", engine.ClassUnavailable, engine.ClassUnknown},
		{9001, "cluster", engine.ClassUnavailable, engine.ClassUnknown},
		{9002, "cluster", engine.ClassUnavailable, engine.ClassUnknown},
		{9003, "cluster", engine.ClassUnavailable, engine.ClassUnknown},
		{9005, "cluster", engine.ClassUnavailable, engine.ClassUnknown},
		{8176, "unavailable", engine.ClassUnavailable, engine.ClassUnknown},
		{8501, "undetermined", engine.ClassOther, engine.ClassUnknown},
	} {
		err := fmt.Errorf("wrapped: %w", &driver.MySQLError{Number: c.number})
		found := classify(err)
		require.Equal(t, c.reason, found.Reason, c.number)
		require.Equal(t, c.want, engine.ClassOf(engine.Classify(err, classify)), c.number)
		require.Equal(t, c.late, engine.ClassOf(engine.AtCommit(err, classify)), c.number)
		require.Equal(t, engine.ClassOther, engine.ClassOf(engine.Classify(err, mysql.Classify)), c.number)
	}
	for _, number := range []uint16{1062, 1205, 1213, 1836, 3819} {
		err := &driver.MySQLError{Number: number}
		require.Equal(t, mysql.Classify(err), classify(err), "as on MySQL")
	}
	require.Nil(t, classify(context.Canceled))
}

// TestRulesOfACluster tests, with the vitals of a cluster, the rules that a server of one
// process cannot break.
func TestRulesOfACluster(t *testing.T) {
	healthy := func() engine.Vitals {
		return engine.Vitals{
			vitalVersion: "8.0.11-TiDB-v8.5.1", vitalStore: "Edition: Community\nStore: tikv\nX: y", vitalReplicas: "3", checksVariable: "ON",
			vitalTables: "2", vitalChecks: "pool_state,pool_version,issued_within_stock",
			"transaction_isolation": "READ-COMMITTED", "autocommit": "ON", "foreign_key_checks": "ON", "tidb_txn_mode": "pessimistic",
			"tidb_constraint_check_in_place_pessimistic": "ON", "tidb_guarantee_linearizability": "ON", "tidb_low_resolution_tso": "OFF",
			"tidb_enable_external_ts_read": "OFF", "tidb_read_staleness": "0", "sql_mode": "STRICT_ALL_TABLES",
			"tidb_restricted_read_only": "OFF", "tidb_super_read_only": "OFF",
		}
	}
	check := func(v engine.Vitals) (found []string) {
		for _, r := range rules() {
			if detail := r.Broken(v, engine.Serving{}); detail != "" {
				found = append(found, string(r.Level)+" "+r.Name+": "+detail)
			}
		}
		return found
	}
	require.Empty(t, check(healthy()))
	require.Empty(t, check(engine.Vitals{vitalVersion: "8.0.11-TiDB-v8.4.0-x"})[1:], "what the account may not read makes no finding")
	for name, c := range map[string]struct{ value, want string }{
		checksVariable:         {"OFF", "danger checks: tidb_enable_check_constraint = OFF"},
		vitalChecks:            {"pool_version", "danger checks-missing: missing CHECK constraint: issued_within_stock"},
		vitalVersion:           {"8.0.11-TiDB-v7.5.0", "warning version: VERSION() = 8.0.11-TiDB-v7.5.0"},
		vitalStore:             {"Store: unistore", "danger one-store: the server keeps its rows in a store of its own (unistore), not in TiKV"},
		vitalReplicas:          {"1", "danger replicas: replication.max-replicas = 1"},
		"tidb_txn_mode":        {"optimistic", "danger session: tidb_txn_mode optimistic"},
		"tidb_read_staleness":  {"-5", "danger session: tidb_read_staleness -5"},
		"sql_mode":             {"", "danger session: sql_mode "},
		"tidb_super_read_only": {"ON", "danger read-only: tidb_super_read_only = ON"},
	} {
		v := healthy()
		v[name] = c.value
		require.Equal(t, []string{c.want}, check(v))
	}
}
