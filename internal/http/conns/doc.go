// Package conns manages the connections of a listener: how many there are, which of
// them make room for new ones, and which of them net/http watches while a call is
// answered.
//
// A connection here knows its draw, its body and its other end. Handlers find the
// connection of their request with Of, which is nil in another server: the methods that
// handlers call accept nil.
package conns
