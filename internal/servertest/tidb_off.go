//go:build !tidb

package servertest

// mysqlServer is MariaDB. With the build tag tidb it is TiDB: see `make tidb`.
func mysqlServer() kind { return mysqlKind() }
