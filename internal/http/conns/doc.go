// Package conns manages the connections of a listener: how many there may be, which of
// them are closed to make room for new ones, and which of them net/http watches while a
// call is answered.
//
// A connection of this package has the state of its draw and of its body, and the
// address of its peer. Handlers find the connection of their request with Of. In another
// server Of returns nil, so the methods that handlers call accept a nil connection.
package conns
