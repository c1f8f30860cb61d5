//go:build tidb

package servertest

// mysqlServer is TiDB in place of MariaDB: so the tests of MySQL show what TiDB does.
func mysqlServer() kind { return tidbKind() }
