// Package conns is the connections of a listener: how many there are, which of them
// make room for new ones, and which of them net/http listens to while a call is answered.
//
// A connection here knows its draw, its body and its other end. Handlers find the
// connection of their request with Of, which is nil in a server of somebody else's:
// the methods that handlers call accept that.
package conns
