// Package checkup is the doctor: rules for settings of a database that endanger what
// the service promises, or may surprise. Each kind of database has a file of rules.
//
// It keeps law 2 beyond the schema: what the rows promise is true only on a server that
// keeps what it acknowledged.
package checkup
