//go:build !tidb

package servertest

// mysqlServer returns MariaDB. With the build tag tidb, it returns TiDB (`make tidb`).
func mysqlServer() kind { return mysqlKind() }
