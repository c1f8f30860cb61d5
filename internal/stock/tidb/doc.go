// Package tidb is the dialect of TiDB, a distributed database that speaks the protocol
// of MySQL: the engine of package mysql with other statements, error codes and rules of
// the doctor. A URL of MySQL leads to it if VERSION() of the server names TiDB.
//
// It keeps law 1 as MySQL does, because every session is pessimistic, checks keys at
// their statement and reads the latest state, whatever the server's defaults are. Law 2
// needs tidb_enable_check_constraint, so nothing is migrated without it.
package tidb
