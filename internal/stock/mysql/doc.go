// Package mysql is the engine of MySQL and MariaDB, alone or as a Galera
// cluster. It keeps law 1 through package sqltx, and law 5: every statement and
// every COMMIT has a limit, and a server that cannot be written is left.
package mysql
