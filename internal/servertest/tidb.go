package servertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TiDB is the name of a kind that [Kinds] does not include, because no package has its
// program. `make bin/tidb-server` builds the program.
const TiDB = "tidb"

// TiDBVariable names a running server of TiDB, for [TiDBDatabase].
const TiDBVariable = "DRAWSVC_TEST_TIDB"

// TiDBDatabase returns the URL of a new, empty database on the server that [TiDBVariable] names.
// It is dropped when the test ends.
func TiDBDatabase(tb testing.TB) string {
	tb.Helper()
	return databases{base: os.Getenv(TiDBVariable), execute: executeMySQL}.lend(tb)
}

// tidbKind is a single process with its own store, not a cluster.
func tidbKind() kind {
	_, file, _, _ := runtime.Caller(0)
	k := mysqlKind()
	k.packages, k.missing = "", "tidb-server is not built: make bin/tidb-server builds it"
	k.programs = map[string][]string{"tidb-server": {filepath.Join(filepath.Dir(file), "../../bin/tidb-server")}}
	k.setUp = setUpTiDB
	k.command = tidbCommand
	return k
}

// setUpTiDB writes the server's settings, and the statements that the server executes
// when it creates its data.
func setUpTiDB(_ context.Context, s *Server) error {
	if err := s.write("password", secret()); err != nil {
		return err
	}
	account := "CREATE USER IF NOT EXISTS drawsvc@'%%' IDENTIFIED BY '%s';\n" +
		"GRANT ALL ON *.* TO drawsvc@'%%' WITH GRANT OPTION;\nCREATE DATABASE IF NOT EXISTS drawsvc;\n" +
		"SET GLOBAL tidb_enable_check_constraint = ON;\n"
	if err := s.write("account.sql", fmt.Sprintf(account, s.password())); err != nil {
		return err
	}
	return s.write("tidb.toml", fmt.Sprintf("initialize-sql-file = %q\ntmp-storage-path = %q\nsplit-table = false\n"+
		"[log]\nlevel = \"warn\"\n[status]\nreport-status = false\n[performance]\ntcp-no-delay = true\n", s.path("account.sql"), s.path("spill")))
}

// tidbCommand returns the server's command line. It leaves out the arguments of tests,
// because they are for MariaDB.
func tidbCommand(s *Server) []string {
	return []string{
		s.programs["tidb-server"], "-config", s.path("tidb.toml"), "-store", "unistore", "-path", s.path("data"), "-temp-dir", s.path("temp"),
		"-host", "127.0.0.1", "-P", fmt.Sprint(s.ports[0].number), "-socket", "", "-lease", "1s",
	}
}
