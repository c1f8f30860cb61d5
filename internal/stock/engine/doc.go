// Package engine says what a database has to be for the store: a [Dialect],
// which is its words, and an [Engine], which is an open one. It keeps law 7:
// every error has a [Class], told by its code, and is told once.
//
// What several databases do in one way stands here as well: the columns of the
// ordered history as data ([Log]), the row of a pool and how it is merged into
// an urn ([Row]), and which of several hosts is asked first ([Hosts]).
package engine
