package http

import (
	"bytes"
	"context"
)

// prooflogChunk is how much of a public log is sent at once, in bytes.
const prooflogChunk = 128 << 10

// proofLog answers GET /pools/{pool}/proof/log. Before the reveal there is none:
// a log would tell players how much is left.
func (s *Server) proofLog(c call) error {
	ctx, cancel := c.wholeLog()
	defer cancel()
	_, err := placed(ctx, c, func() ([]byte, error) { return s.Store.Published(ctx, c.param("pool"), "reveal") })
	if err != nil {
		return err
	}
	w := &logSender{ctx: ctx, call: c, pace: pace{left: s.limits.page, each: s.limits.pace}}
	if err := w.resume(); err != nil {
		return err
	}
	defer w.pause()
	err = s.Store.WriteProofLog(ctx, c.param("pool"), w, func() {
		c.gin.Writer.Header().Set("Content-Type", typeNDJSON)
		c.gin.Writer.WriteHeaderNow()
	})
	if err != nil {
		return err
	}
	w.pause()
	return w.send()
}

// logSender passes a log on to its caller, who has a pace to keep to. The place of the
// database that it is read in is given back while the caller is sent to.
type logSender struct {
	ctx   context.Context //nolint:containedctx // of one call, for the writer that the log is written to
	call  call
	pace  pace
	chunk bytes.Buffer
	// leave gives the place back; it is nil without one.
	leave func()
}

// resume takes a place of the database. Error: CodeOverloaded.
func (w *logSender) resume() error {
	leave, err := w.call.place(w.ctx)
	if err == nil {
		w.leave = leave
	}
	return err
}

// pause gives the place back, if there is one.
func (w *logSender) pause() {
	if w.leave != nil {
		w.leave()
		w.leave = nil
	}
}

// Write implements io.Writer.
func (w *logSender) Write(line []byte) (int, error) {
	n, _ := w.chunk.Write(line) // to memory: cannot fail
	if w.chunk.Len() < prooflogChunk {
		return n, nil
	}
	w.pause()
	err := w.send()
	if failed := w.resume(); err == nil {
		err = failed
	}
	return n, err
}

// send passes on what was written.
func (w *logSender) send() error {
	return w.pace.of(w.call, func() error {
		_, err := w.chunk.WriteTo(w.call.gin.Writer)
		return err
	})
}
