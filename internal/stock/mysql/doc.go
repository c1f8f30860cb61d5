// Package mysql is the engine of MySQL and MariaDB, as one server or as a Galera cluster.
// It keeps law 1 through package sqltx. It keeps law 5: every statement and every COMMIT
// has a time limit, and connections to a server that cannot be written to are closed.
package mysql
