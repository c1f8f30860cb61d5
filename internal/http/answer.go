package http

import (
	nethttp "net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/packed"
)

// writeCopied answers with a, or with 304 if the caller already has it.
func (c call) writeCopied(a *packed.Copy) {
	h := c.gin.Writer.Header()
	body, isKnown := a.Choose(c.gin.Request.Header, h)
	if isKnown {
		h.Del("Content-Encoding") // the answer has no content
		h.Del("Content-Type")
		c.gin.Writer.WriteHeader(nethttp.StatusNotModified)
		c.gin.Writer.WriteHeaderNow()
		return
	}
	c.write(nethttp.StatusOK, body)
}

// writeOpenly writes an answer that is not secret: callers may cache it, and check by
// its tag whether it has changed.
func (c call) writeOpenly(a *packed.Copy) {
	c.gin.Writer.Header()["Cache-Control"] = []string{"no-cache"}
	c.writeCopied(a)
}

// dropCopies drops the copies of a pool.
func (s *Server) dropCopies(poolID string) {
	s.copies.Drop(poolID)
	s.odds.Drop(poolID)
	s.fair.Drop(poolID)
}

// created sets the status 201 and the Location of the created object.
func (c call) created(location string) {
	c.gin.Writer.Header().Set("Location", location)
	c.gin.Writer.WriteHeader(nethttp.StatusCreated)
}

// noContent answers with the status 204.
func (c call) noContent() {
	c.gin.Writer.WriteHeader(nethttp.StatusNoContent)
	c.gin.Writer.WriteHeaderNow()
}

// replayed sets the header that states whether the answer was given before.
func (c call) replayed(was bool) {
	if was {
		c.gin.Writer.Header().Set("Idempotent-Replayed", "true")
	}
}

// shortMax is the maximum size of an answer that net/http buffers until its handler ends,
// in bytes. For such an answer net/http itself computes the length.
const shortMax = 2 << 10

// writeShort is like write, for an answer that is usually short. It does not set the
// length, so net/http has one header less to copy, sort and write.
func (c call) writeShort(status int, body []byte) {
	if len(body) > shortMax {
		c.write(status, body)
		return
	}
	c.answer(status, body)
}

// write sends an answer whose headers are set, with its length.
func (c call) write(status int, body []byte) {
	c.gin.Writer.Header()["Content-Length"] = []string{strconv.Itoa(len(body))}
	c.answer(status, body)
}

func (c call) answer(status int, body []byte) {
	c.gin.Writer.WriteHeader(status)
	_, _ = c.gin.Writer.Write(body) // a caller who has disconnected cannot be notified
}

// writeJSON answers with the JSON of v.
func (c call) writeJSON(v any) error {
	body, err := encodeJSON(v)
	if err != nil {
		return err
	}
	return c.writeEncoded(body)
}

func encodeJSON(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, draw.WrapInternal(err, "the answer could not be written")
	}
	return append(body, '\n'), nil
}

// writeEncoded answers with JSON.
func (c call) writeEncoded(body []byte) error {
	done, err := c.room(len(body))
	if err != nil && c.isRead() {
		return err
	}
	if err == nil {
		defer done()
	}
	c.gin.Writer.Header()["Content-Type"] = c.server.headers.json
	c.write(c.gin.Writer.Status(), body)
	return nil
}
