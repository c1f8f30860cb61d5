package http

import (
	"io"
	nethttp "net/http"
	"time"

	"drawsvc/internal/api"
	"drawsvc/internal/http/conns"
)

// If drainMin to drainMax bytes of a body are left, they are read and discarded for a
// short time. net/http itself does so if fewer are left.
const drainMin, drainMax = 256 << 10, 2 * api.FileMax

// leaveBody marks the call as answered without reading the body of its request, if it
// has one. The connection is closed after the answer.
func (c call) leaveBody() {
	if c.gin.Request.ContentLength != 0 { // -1 in chunks
		c.gin.Writer.Header()["Connection"] = []string{"close"}
	}
}

// leavesBody reports whether the body was not read.
func (c call) leavesBody() bool {
	return c.gin.Request.ContentLength != 0 && c.gin.Writer.Header().Get("Connection") == "close"
}

// linger sends the answer, and for a short time reads what still arrives of the body.
// Otherwise a caller who sends everything before reading would get a reset connection
// instead of the answer. A caller that waits for "100 Continue" does not get it, and
// only little of an endless body is read. During that time the connection counts as
// idle, so it may be closed to make room for others.
func (c call) linger() {
	r, control := c.gin.Request, nethttp.NewResponseController(c.gin.Writer)
	// A writer without deadlines belongs to no connection.
	_ = control.SetReadDeadline(time.Now().Add(c.server.limits.linger))
	_ = control.Flush()
	if conn := conns.Of(r.Context()); conn != nil {
		c.server.connections.Changed(conn, nethttp.StateIdle)
	}
	if r.ContentLength >= drainMin && r.ContentLength <= drainMax && r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength) // fails if it has been read
	}
}
