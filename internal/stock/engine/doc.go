// Package engine describes what the store needs from a database: a [Dialect], which is
// its SQL, and an [Engine], which is an open database. It keeps law 7: every error gets
// its [Class] from its code, and only once.
//
// It also contains code that several databases share: the columns of the ordered
// history as data ([Log]), the row of a pool and its merge into an urn ([Row]), and the
// order in which several hosts are tried ([Hosts]).
package engine
