//go:build tidb

package servertest

// mysqlServer returns TiDB in place of MariaDB, so that the tests of MySQL run on TiDB.
func mysqlServer() kind { return tidbKind() }
