package http

import (
	nethttp "net/http"

	"drawsvc/internal/http/conns"
	"drawsvc/internal/http/packed"
)

// whole returns a handler for an answer without a length. Over HTTP/1.0, the end of the
// connection is the end of such an answer. So the connection is reset, not closed, until
// the whole answer has been passed to the kernel. An answer that is cut by an error, a
// timeout or the end of the process then never seems complete.
func whole(handle handler) handler {
	return func(c call) (err error) {
		conn := conns.Of(c.gin.Request.Context())
		if conn == nil { // another server's connection
			return handle(c)
		}
		conn.ResetOnClose(true)
		defer func() {
			switch {
			case !c.gin.Writer.Written(): // the answer is a problem, with its length
				conn.ResetOnClose(false)
			case err != nil:
				conn.Cut()
			}
		}()
		if err := handle(c); err != nil || !c.gin.Writer.Written() {
			return err
		}
		if err := flush(c.gin.Writer); err != nil {
			return err
		}
		conn.ResetOnClose(false)
		return nil
	}
}

// flush passes everything that was written to the kernel. Errors are those of net/http:
// gin's own Flush drops them.
func flush(w nethttp.ResponseWriter) error {
	if under, ok := w.(interface{ Unwrap() nethttp.ResponseWriter }); ok {
		w = under.Unwrap()
	}
	return nethttp.NewResponseController(w).Flush()
}

// gzipped compresses a handler's answers 200 for callers who accept gzip. Problems are
// never compressed. A stream that fails in its middle gets no end of gzip either: the
// connection is cut, and no caller can mistake the answer for a complete one.
func (s *Server) gzipped(handle handler) handler {
	return whole(func(c call) error {
		plain := c.gin.Writer
		h := plain.Header()
		h.Set("Vary", "Accept, Accept-Encoding")
		w := packed.NewWriter(plain, &s.gzips)
		if c.gin.Request.Method != nethttp.MethodHead && packed.Accepts(c.gin.Request.Header) {
			c.gin.Writer = w
			defer func() { c.gin.Writer = plain }()
		}
		isAnswered := false
		defer func() {
			if !isAnswered {
				h.Del("Vary") // problems have only one format, also after a panic
			}
		}()
		if err := handle(c); err != nil {
			return err
		}
		isAnswered = true
		w.End()
		return nil
	})
}
