package http

import (
	"bytes"
	"errors"
	"io"
	"math"
	"mime"
	"net"
	nethttp "net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/conns"
	"drawsvc/internal/http/problem"
)

const (
	// bodyMax is the maximum size of a body, in bytes.
	bodyMax = 64 << 10
	// bufferSize is the initial size of a buffer; it grows as needed.
	bufferSize = 2 << 10
)

// bodyMax is the maximum length of a body.
func (s *Server) bodyMax() int {
	if s.Unbounded {
		return math.MaxInt
	}
	return bodyMax
}

// buffer returns an empty buffer; s.buffers.Put gives it back.
func (s *Server) buffer() *[]byte { return s.buffers.Get().(*[]byte) }

var errEmptyBody = draw.Errorf(draw.CodeInvalidRequest, "the body is empty")

// decode reads the body, one JSON object, into the struct that into points to. It
// refuses members that the struct does not have, members that occur twice, names in
// another case, invalid UTF-8 and anything after the object. A null is the member's
// zero value.
func (s *Server) decode(r *nethttp.Request, into any) error {
	if err := checkContentType(r.Header, "application/json"); err != nil {
		return err
	}
	buf := s.buffer()
	defer s.buffers.Put(buf)
	var err error
	conn := conns.Of(r.Context())
	conn.CountBody()
	defer conn.CountBody()
	if *buf, err = readBody(r, (*buf)[:0], s.bodyMax()); err != nil {
		return err
	}
	switch body := bytes.TrimLeft(*buf, " \t\r\n"); {
	case len(body) == 0:
		return errEmptyBody
	case body[0] != '{':
		return draw.Errorf(draw.CodeInvalidRequest, "the body must be a JSON object")
	}
	if err := json.Unmarshal(*buf, into, s.strict); err != nil {
		return draw.Errorf(draw.CodeInvalidRequest, "%s", api.DecodeDetail(err))
	}
	return nil
}

// checkContentType returns an error unless a body has the one media type that a call
// accepts, in UTF-8; params are further parameters that the type may have.
func checkContentType(h nethttp.Header, kind string, params ...string) error {
	if h["Content-Encoding"] != nil {
		return draw.Errorf(problem.CodeUnsupportedMediaType, "the body must not be encoded")
	}
	lines := h["Content-Type"]
	if len(lines) == 1 && (lines[0] == kind || isPlain(lines[0], kind, params)) {
		return nil
	}
	return draw.Errorf(problem.CodeUnsupportedMediaType, "Content-Type must be %s, in UTF-8", kind)
}

func isPlain(contentType, kind string, allowed []string) bool {
	given, params, err := mime.ParseMediaType(contentType)
	if err != nil || given != kind {
		return false
	}
	for name, value := range params {
		isUTF8 := name == "charset" && strings.EqualFold(value, "utf-8")
		if !isUTF8 && !slices.Contains(allowed, name) {
			return false
		}
	}
	return true
}

// readBody reads a body of up to most bytes into buf, which grows as needed. It returns
// the bytes read even if it fails.
func readBody(r *nethttp.Request, buf []byte, most int) ([]byte, error) {
	if r.ContentLength > int64(most) {
		return buf, draw.Errorf(api.CodeBodyTooLarge, "the body is larger than %d bytes", most)
	}
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > most:
			return buf, draw.Errorf(api.CodeBodyTooLarge, "the body is larger than %d bytes", most)
		case err == io.EOF:
			_ = r.Body.Close() // otherwise net/http reads it to its end once more before it answers
			return buf, nil
		case isTimeout(err):
			return buf, draw.Errorf(problem.CodeRequestTimeout, "the body did not arrive in time")
		case err != nil:
			return buf, draw.Errorf(draw.CodeInvalidRequest, "the body could not be read to its end")
		}
	}
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}

// bodiless rejects a body, except an empty object.
func bodiless(next handler) handler {
	return func(c call) error {
		if err := c.server.expectNoBody(c.gin.Request); err != nil {
			return err
		}
		return next(c)
	}
}

// expectNoBody returns an error unless the body is empty or an empty object. Clients that
// do not know in advance that the body is empty send it in chunks, some without its type.
func (s *Server) expectNoBody(r *nethttp.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	if r.ContentLength < 0 && r.Header["Content-Type"] == nil {
		buf := s.buffer()
		defer s.buffers.Put(buf)
		var err error
		if *buf, err = readBody(r, (*buf)[:0], 0); draw.CodeOf(err) != api.CodeBodyTooLarge {
			return err
		}
	}
	err := s.decode(r, &struct{}{})
	if errors.Is(err, errEmptyBody) {
		return nil
	}
	return err
}

// keyHeader is the name of the header in nethttp.Header.
const keyHeader = "Idempotency-Key"

// idempotencyKey returns the Idempotency-Key, or "" if none was sent. A key may be bare
// or quoted: "abc" with its quotes means abc, and within quotes \" and \\ mean " and \
// (IETF draft). A key that is given twice, empty or not printable ASCII is refused. So
// is an unquoted key with a comma, a blank or a quote: a proxy may join two headers
// with a comma, and the joined text would name another draw.
func idempotencyKey(h nethttp.Header) (string, error) {
	lines := h[keyHeader]
	switch {
	case len(lines) == 0:
		return "", nil
	case len(lines) > 1:
		return "", draw.Errorf(draw.CodeInvalidRequest, "Idempotency-Key is there more than once")
	}
	key := lines[0]
	quoted := key != "" && key[0] == '"'
	if !quoted && strings.ContainsAny(key, ",\" ") {
		return "", draw.Errorf(draw.CodeInvalidRequest, "Idempotency-Key holds a comma, a blank or a quote: put it in double quotes")
	}
	if quoted {
		var ok bool
		if key, ok = unquote(key); !ok {
			return "", draw.Errorf(draw.CodeInvalidRequest, "Idempotency-Key begins with a quote but is not a quoted string")
		}
	}
	return key, draw.CheckKey(key)
}

// unquote returns the text within the quotes of s, which begins with a quote.
func unquote(s string) (string, bool) {
	if len(s) < 2 || s[len(s)-1] != '"' {
		return "", false
	}
	s = s[1 : len(s)-1]
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return "", false
		case '\\':
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
		}
		out = append(out, s[i])
	}
	return string(out), true
}

// If drainMin to drainMax bytes of a body are left, they are read and discarded for a
// short time. net/http itself does so if fewer are left.
const drainMin, drainMax = 256 << 10, 2 * api.FileMax

// leaveBody marks the call as answered without reading the body of its request, if it
// has one. The connection is closed after the answer.
func (c call) leaveBody() {
	if c.gin.Request.ContentLength != 0 { // it is -1 for a body in chunks
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
