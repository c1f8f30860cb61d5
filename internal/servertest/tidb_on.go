//go:build tidb

package servertest

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
)

// mysqlServer is TiDB in place of MariaDB, one process with a store of its own: so the
// tests of MySQL show what TiDB does. `make tidb` builds its program.
func mysqlServer() kind {
	k := mysqlKind()
	_, file, _, _ := runtime.Caller(0)
	k.packages = ""
	k.programs = map[string][]string{"tidb-server": {filepath.Join(filepath.Dir(file), "../../bin/tidb-server")}}
	k.setUp = setUpTiDB
	k.command = tidbCommand
	return k
}

// setUpTiDB writes what the server reads when it creates its data.
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

// tidbCommand leaves out the tests' arguments, which are those of MariaDB.
func tidbCommand(s *Server) []string {
	return []string{
		s.programs["tidb-server"], "-config", s.path("tidb.toml"), "-store", "unistore", "-path", s.path("data"), "-temp-dir", s.path("temp"),
		"-host", "127.0.0.1", "-P", fmt.Sprint(s.ports[0].number), "-socket", "", "-lease", "1s",
	}
}
