// Package sqlite is the engine of the embedded database. It keeps law 1 through
// package sqltx, with one connection that writes, in one process.
//
// It also keeps what the file promises: a commit is on the disk before it is
// answered, what may be a mixture of two states is examined before it is used,
// and nothing is written any more once the file is damaged or another's.
package sqlite
