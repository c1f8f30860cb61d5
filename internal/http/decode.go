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

// readBody reads a body of up to most bytes into buf, growing it as needed, and
// returns it even if it fails.
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

// bodiless rejects a body, except an empty object. Clients that do not know in advance
// that the body is empty use chunks.
func bodiless(next handler) handler {
	return func(c call) error {
		if c.gin.Request.ContentLength != 0 {
			if err := c.server.decode(c.gin.Request, &struct{}{}); err != nil && !errors.Is(err, errEmptyBody) {
				return err
			}
		}
		return next(c)
	}
}
