// Package sqltx decides batches through database/sql, for databases that differ in a few
// statements. It keeps law 1: an attempt ends in one guarded write, or changes nothing.
package sqltx
