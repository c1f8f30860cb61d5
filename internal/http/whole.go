package http

import nethttp "net/http"

// whole is a handler whose answer has no length. Over HTTP/1.0 the end of the
// connection is then the end of the answer. The connection is reset instead of
// closed until all has been handed to the kernel, so that an answer that was cut is
// no whole one, whatever cut it: an error, a limit of time, the end of the process.
func whole(handle handler) handler {
	return func(c call) (err error) {
		conn := connOf(c.gin.Request.Context())
		if conn == nil { // a server of somebody else's
			return handle(c)
		}
		conn.resetOnClose(true)
		defer func() {
			switch {
			case !c.gin.Writer.Written(): // what comes is a problem, with its length
				conn.resetOnClose(false)
			case err != nil:
				conn.cut()
			}
		}()
		if err := handle(c); err != nil || !c.gin.Writer.Written() {
			return err
		}
		if err := flush(c.gin.Writer); err != nil {
			return err
		}
		conn.resetOnClose(false)
		return nil
	}
}

// flush hands all that was written to the kernel. Errors are those of net/http: gin's
// own Flush drops them.
func flush(w nethttp.ResponseWriter) error {
	if under, ok := w.(interface{ Unwrap() nethttp.ResponseWriter }); ok {
		w = under.Unwrap()
	}
	return nethttp.NewResponseController(w).Flush()
}
