package tidb

import (
	"context"

	"drawsvc/internal/draw"
	"drawsvc/internal/locker/locksql"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/mysql"
)

// Dialect returns the dialect of TiDB. It uses MySQL's folder of SQL.
func Dialect() *engine.Dialect {
	d := mysql.Dialect()
	d.Name, d.VersionPart, d.Variable = "tidb", "-TiDB-", "tidb_txn_mode"
	d.Locks = locks(d)
	d.ByCode = classify
	d.Commit = mysql.CommitBy(classify)
	d.Writable = `(@@global.tidb_super_read_only = 0 AND @@global.tidb_restricted_read_only = 0)`
	// START TRANSACTION READ ONLY gives error 1235. A plain transaction reads the state
	// at its beginning, too.
	d.Snapshot.ReadOnly = false
	d.Session = session()
	d.BeforeMigrate = requireChecks
	d.Doctor = doctor()
	d.BackupTools = "BR (`tiup br`) or Dumpling"
	return d
}

// locks returns the statements of the lock "table:". No other lock keeps the contract of
// locks here. GET_LOCK waits for at least a second, even with a shorter timeout, and KILL
// QUERY does not end that wait. The server also does not notice that a session has lost
// its lock. The lock "row:" failed its contract in one run, for an unknown reason.
func locks(d *engine.Dialect) locksql.Statements {
	return locksql.Statements{Database: d.Name, Table: d.Locks.Table}
}

// session returns the settings of each session, because a server or an operator may have
// set other global values. An optimistic session locks no row. A session that checks keys
// at COMMIT reports duplicates too late. A table without a clustered key has hidden row
// numbers, and so one hot region for all pools. The other settings exclude reads of an
// older state.
func session() []string {
	return []string{`SET SESSION tidb_txn_mode = 'pessimistic', tidb_constraint_check_in_place_pessimistic = ON, foreign_key_checks = ON,
		tidb_guarantee_linearizability = ON, tidb_low_resolution_tso = OFF, tidb_enable_external_ts_read = OFF,
		tidb_read_staleness = 0, tidb_replica_read = 'leader', tidb_enable_clustered_index = ON`}
}

// checksVariable is the variable that must be on: otherwise the server accepts CHECK
// constraints, but does not keep them.
const checksVariable = "tidb_enable_check_constraint"

// requireChecks returns an error if the server would drop the CHECK constraints of a
// migration. Error: CodeStoreUnavailable.
func requireChecks(ctx context.Context, e *engine.Engine) error {
	var isOn bool
	if err := e.Migrate.QueryRowContext(ctx, `SELECT @@global.`+checksVariable).Scan(&isOn); err != nil {
		return err
	}
	if !isOn {
		return draw.Errorf(draw.CodeStoreUnavailable,
			"TiDB ignores CHECK constraints while %s is OFF, and the schema would not guard itself; nothing was changed: run SET GLOBAL %s = ON, then migrate",
			checksVariable, checksVariable)
	}
	return nil
}
