// Package sqltx decides batches through database/sql, for databases that word a
// few statements differently. It keeps law 1: an attempt ends in one guarded
// write, or leaves nothing behind.
package sqltx
