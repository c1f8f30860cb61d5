// Package checkup is the doctor: rules that say which settings of a database
// endanger what the service promises, or may surprise. Each kind of database has
// a file of rules.
//
// It keeps law 2 beyond the schema: what the rows promise holds only on a server
// that keeps what it acknowledged.
package checkup
