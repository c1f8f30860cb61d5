// Package checkup is the doctor: it finds settings of a database that endanger the
// service's promises, or may surprise. Each kind of database has a file of rules.
//
// It extends law 2 beyond the schema: the guarantees of the rows hold only on a server
// that keeps what it has acknowledged.
package checkup
