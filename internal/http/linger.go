package http

import (
	"io"
	nethttp "net/http"
	"time"

	"drawsvc/internal/api"
	"drawsvc/internal/http/conns"
)

// A body of drainMin to drainMax bytes that is left is read for nothing for a while;
// net/http does so with a smaller one.
const drainMin, drainMax = 256 << 10, 2 * api.FileMax

// leaveBody has the call answered without the body of its request, if it has one. The
// connection is closed after the answer.
func (c call) leaveBody() {
	if c.gin.Request.ContentLength != 0 { // -1 in chunks
		c.gin.Writer.Header()["Connection"] = []string{"close"}
	}
}

// leavesBody reports whether the body was left.
func (c call) leavesBody() bool {
	return c.gin.Request.ContentLength != 0 && c.gin.Writer.Header().Get("Connection") == "close"
}

// linger sends the answer, and reads for a short time what still comes of the body. A
// caller who sends all before he reads would meet a connection that is reset in place
// of the answer. One who waits to be asked for the body is not asked, and of an endless
// one little is read. Meanwhile the connection counts as idle: it makes room for
// others.
func (c call) linger() {
	r, control := c.gin.Request, nethttp.NewResponseController(c.gin.Writer)
	// A writer without deadlines belongs to no connection.
	_ = control.SetReadDeadline(time.Now().Add(c.server.limits.linger))
	_ = control.Flush()
	if conn := conns.Of(r.Context()); conn != nil {
		c.server.connections.Changed(conn, nethttp.StateIdle)
	}
	if r.ContentLength >= drainMin && r.ContentLength <= drainMax && r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength) // fails where it has been read
	}
}
