package checkup

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/mysql"
	"drawsvc/internal/stock/postgres"
	"drawsvc/internal/stock/sqlite"
)

// TestRulesOfWhatIsNotHere tests rules on states that no server of these tests can have.
func TestRulesOfWhatIsNotHere(t *testing.T) {
	node := engine.Vitals{
		"tx_isolation": "READ-COMMITTED", "autocommit": "ON", "sql_mode": "STRICT_ALL_TABLES", "wsrep_on": "ON", "wsrep_cluster_size": "1",
		"wsrep_cluster_status": "Primary", "wsrep_local_state_comment": "Synced",
		"wsrep_provider_options": "pc.ignore_quorum = false; pc.ignore_sb = false; ",
	}
	with := func(v engine.Vitals, pairs ...string) engine.Vitals {
		v = maps.Clone(v)
		for i := 0; i < len(pairs); i += 2 {
			v[pairs[i]] = pairs[i+1]
		}
		return v
	}
	for _, c := range []struct {
		dialect *engine.Dialect
		vitals  engine.Vitals
		lock    string
		want    map[string]string
	}{
		{postgres.Dialect(), engine.Vitals{"transaction_timeout": "10000"}, "row", nil},
		{postgres.Dialect(), engine.Vitals{"transaction_timeout": "0"}, "row", nil},
		{postgres.Dialect(), engine.Vitals{"transaction_timeout": "5000"}, "table", nil},
		{
			postgres.Dialect(), engine.Vitals{"transaction_timeout": "5000"}, "row",
			map[string]string{"transaction-timeout": "transaction_timeout = 5s is shorter than the lease of 10s of the lock row:"},
		},
		{
			postgres.Dialect(), engine.Vitals{"archive_mode": "on", "archive_command": ""}, "table",
			map[string]string{"archiving": "archive_mode = on, and archive_command is empty"},
		},
		{postgres.Dialect(), engine.Vitals{"archive_mode": "on", "archive_command": "", "archive_library": "basic_archive"}, "table", nil},
		{mysql.Dialect(), node, "table", nil},
		{mysql.Dialect(), with(node, "innodb_redo_log_capacity", "134217728", "innodb_log_file_size", "50331648"), "table", nil},
		{
			mysql.Dialect(), with(node, "innodb_redo_log_capacity", "104857600", "innodb_log_file_size", "1073741824"), "table",
			map[string]string{"redo-log": "innodb_redo_log_capacity = 100 MB"},
		},
		{mysql.Dialect(), with(node, "wsrep_on", "OFF", "wsrep_cluster_status", "Disconnected"), "row", nil},
		{mysql.Dialect(), node, "row", map[string]string{"galera-lock": "the lock row: is held on one node only"}},
		{mysql.Dialect(), with(node, "tx_isolation", "REPEATABLE-READ"), "table", map[string]string{"session": "isolation REPEATABLE-READ"}},
		{
			mysql.Dialect(), with(node, "autocommit", "OFF", "sql_mode", ""), "table",
			map[string]string{"session": "autocommit OFF, sql_mode "},
		},
		{
			mysql.Dialect(), with(node, "wsrep_cluster_size", "3"), "table",
			map[string]string{"galera-writers": "wsrep_on = ON in a cluster of 3 nodes, each of which can be written"},
		},
		{
			mysql.Dialect(), with(node, "wsrep_cluster_status", "non-Primary", "wsrep_local_state_comment", "Initialized"), "table",
			map[string]string{
				"galera-not-primary": "wsrep_cluster_status = non-Primary",
				"galera-not-synced":  "wsrep_local_state_comment = Initialized",
			},
		},
		{mysql.Dialect(), with(node, "read_only", "ON", "replica", "no"), "table", map[string]string{"read-only": "read_only = ON"}},
		{sqlite.Dialect(), engine.Vitals{"integrity": "ok", "journal_mode": "wal", "folder": "why not"}, "table", map[string]string{"folder": "why not"}},
		{sqlite.Dialect(), engine.Vitals{"integrity": "ok", "journal_mode": "wal", "file": "why not"}, "table", map[string]string{"read-only-file": "why not"}},
		{
			sqlite.Dialect(), engine.Vitals{"integrity": "ok", "journal_mode": "wal", "file system": "NFS"}, "table",
			map[string]string{"network-file-system": "the file is on a network file system: NFS"},
		},
		{
			sqlite.Dialect(), engine.Vitals{"integrity": "ok", "journal_mode": "wal", "file system": "SMB"}, "table",
			map[string]string{"network-file-system": "the file is on a network file system: SMB"},
		},
		{
			sqlite.Dialect(), engine.Vitals{"integrity": "ok", "journal_mode": "wal", "file system": "FUSE"}, "table",
			map[string]string{"fuse": "the file is on a file system of a program's own: FUSE"},
		},
		{sqlite.Dialect(), engine.Vitals{"integrity": "ok", "journal_mode": "wal", "file system": ""}, "table", nil}, // ext4
	} {
		found := map[string]string{}
		for _, r := range c.dialect.Doctor.Rules() {
			if detail := r.Broken(c.vitals, Options{Lock: c.lock, LockTTL: 10 * time.Second, LockWait: 2 * time.Second}); detail != "" {
				found[r.Name] = detail
			}
		}
		if c.want == nil {
			c.want = map[string]string{}
		}
		require.Equal(t, c.want, found, "%v", c.vitals)
	}
}
