// Package sqlite is the engine of the embedded database. It keeps law 1 through package
// sqltx, with one connection that writes, in one process.
//
// It also keeps the promises of the file: a commit is on the disk before it is
// answered, files that may be a mixture of two states are examined before they are
// used, and nothing is written once the file is damaged or replaced.
package sqlite
