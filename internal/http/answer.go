package http

import (
	"mime"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/packed"
	"drawsvc/internal/http/problem"
)

// writeCopied answers with the copy a, or with 304 if the caller already has it.
func (c call) writeCopied(a *packed.Copy) {
	h := c.gin.Writer.Header()
	body, isKnown := a.Choose(c.gin.Request.Header, h)
	if isKnown {
		h.Del("Content-Encoding") // a 304 has no content
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

// The media types of answers.
const (
	typeJSON    = "application/json"
	typeProblem = "application/problem+json"
	typeCSV     = "text/csv"
	typeNDJSON  = "application/x-ndjson"
	typePlain   = "text/plain"
	typeZip     = "application/zip"
)

// wish is what an Accept header says about one media type.
type wish struct {
	// weight is positive if the caller accepts the type.
	weight float64
	// byName means that the caller names the type itself, not only a range that
	// contains it.
	byName bool
}

// wishFor returns what an Accept header says about a media type. The most precise range
// that contains the type counts (RFC 9110): application/json before application/* before
// */*. Parameters of types are not compared. Unreadable parts are ignored; a header
// without a readable part accepts everything.
func wishFor(mediaType string, h nethttp.Header) wish {
	family, _, _ := strings.Cut(mediaType, "/")
	precision, anyRead := -1, false
	var found wish
	for _, line := range h["Accept"] {
		for part := range strings.SplitSeq(line, ",") {
			kind, params, err := mime.ParseMediaType(part)
			if err != nil || !strings.Contains(kind, "/") {
				continue
			}
			anyRead = true
			precise := -1
			switch kind {
			case mediaType:
				precise = 2
			case family + "/*":
				precise = 1
			case "*/*":
				precise = 0
			}
			if precise > precision {
				precision = precise
				found = wish{weightOf(params), precise == 2}
			}
		}
	}
	if !anyRead {
		return wish{weight: 1}
	}
	return found
}

// weightOf returns the weight in the parameters of a range; an invalid number counts as
// 0.
func weightOf(params map[string]string) float64 {
	q, given := params["q"]
	if !given {
		return 1
	}
	weight, _ := strconv.ParseFloat(q, 64)
	return weight
}

// prefers reports whether the caller prefers a media type to JSON. If both have the same
// weight, the header must name the type itself.
func prefers(mediaType string, h nethttp.Header) bool {
	wanted, json := wishFor(mediaType, h), wishFor(typeJSON, h)
	return wanted.weight > json.weight || wanted.byName && wanted.weight > 0 && wanted.weight == json.weight
}

// checkAccept refuses a caller who accepts none of the media types of the route's
// answers. Every call may be answered with a problem, so a caller that accepts only
// problems is not refused.
func (r *route) checkAccept(h nethttp.Header) error {
	accept := h["Accept"]
	if len(r.answers) == 0 || len(accept) == 0 || len(accept) == 1 && (accept[0] == "*/*" || accept[0] == typeJSON && r.answers[0] == typeJSON) {
		return nil // almost every caller; this costs nothing
	}
	takes := func(mediaType string) bool { return wishFor(mediaType, h).weight > 0 }
	if slices.ContainsFunc(r.answers, takes) || takes(typeProblem) {
		return nil
	}
	return draw.Errorf(problem.CodeNotAcceptable, "the call answers with %s, which the Accept header excludes", strings.Join(r.answers, " or "))
}
