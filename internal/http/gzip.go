package http

import (
	"compress/gzip"
	"io"
	"mime"
	nethttp "net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/gin-gonic/gin"
)

// gzipLeast is the length of an answer from which on it is worth compressing, in bytes.
// A stream does not know its length, and is worth it.
const gzipLeast = 1400

// gzipped has the answers 200 of a handler compressed for callers who accept gzip.
// Problems are never compressed. A stream that fails in its middle gets no end of gzip
// either: the connection is cut, and no caller takes it for a whole one.
func (s *Server) gzipped(handle handler) handler {
	return whole(func(c call) error {
		plain := c.gin.Writer
		h := plain.Header()
		h.Set("Vary", "Accept, Accept-Encoding")
		w := &gzipWriter{ResponseWriter: plain, writers: &s.gzips}
		if c.gin.Request.Method != nethttp.MethodHead && acceptsGzip(c.gin.Request.Header) {
			c.gin.Writer = w
			defer func() { c.gin.Writer = plain }()
		}
		if err := handle(c); err != nil {
			h.Del("Vary") // a problem has one format
			return err
		}
		w.end()
		return nil
	})
}

// acceptsGzip says whether the caller takes gzip, by its name or by an asterisk.
func acceptsGzip(h nethttp.Header) bool {
	named, any := -1.0, 0.0
	for _, line := range h["Accept-Encoding"] {
		for part := range strings.SplitSeq(line, ",") {
			coding, params, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			weight := 1.0
			if q, given := params["q"]; given {
				weight, _ = strconv.ParseFloat(q, 64) // what is no number weighs nothing
			}
			switch coding {
			case "gzip", "x-gzip":
				named = weight
			case "*":
				any = weight
			}
		}
	}
	return named > 0 || named < 0 && any > 0
}

// newGzip is a compressor, which keeps some 800 kB.
func newGzip() any {
	w, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is one
	return w
}

// gzipWriter compresses an answer, or passes it on where its headers say that it is
// short or no success.
type gzipWriter struct {
	gin.ResponseWriter
	writers *sync.Pool
	begun   bool
	// to is nil for an answer that is passed on.
	to *gzip.Writer
}

// gzipTag is what the tag of a compressed answer ends with.
const gzipTag = "-gzip"

// asGzip is the headers of an answer that is compressed. Its tag is another one, as
// RFC 9110 has it of other bytes, and a strong one: If-Match takes no weak ones.
func asGzip(h nethttp.Header) {
	h.Set("Content-Encoding", "gzip")
	if tag, isTag := strings.CutSuffix(h.Get("ETag"), `"`); isTag {
		h.Set("ETag", tag+gzipTag+`"`)
	}
}

// plainTag is the tag of the same answer as it is before it is compressed.
func plainTag(tag string) string {
	if compressed, is := strings.CutSuffix(tag, gzipTag+`"`); is {
		return compressed + `"`
	}
	return tag
}

// begin decides, before the headers are sent.
func (w *gzipWriter) begin() {
	if w.begun {
		return
	}
	w.begun = true
	h := w.Header()
	length, err := strconv.Atoi(h.Get("Content-Length"))
	if w.Status() != nethttp.StatusOK || err == nil && length < gzipLeast {
		return
	}
	h.Del("Content-Length")
	asGzip(h)
	w.to = w.writers.Get().(*gzip.Writer)
	w.to.Reset(w.ResponseWriter)
}

// WriteHeaderNow implements gin.ResponseWriter.
func (w *gzipWriter) WriteHeaderNow() {
	w.begin()
	w.ResponseWriter.WriteHeaderNow()
}

// Write implements io.Writer.
func (w *gzipWriter) Write(b []byte) (int, error) {
	w.begin()
	if w.to == nil {
		return w.ResponseWriter.Write(b)
	}
	return w.to.Write(b)
}

// WriteString implements io.StringWriter.
func (w *gzipWriter) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// FlushError sends what was written, for http.ResponseController.
func (w *gzipWriter) FlushError() error {
	if w.to != nil {
		if err := w.to.Flush(); err != nil {
			return err
		}
	}
	return nethttp.NewResponseController(w.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (w *gzipWriter) Flush() { _ = w.FlushError() } // a caller who has disconnected cannot be notified

// Unwrap is for http.ResponseController.
func (w *gzipWriter) Unwrap() nethttp.ResponseWriter { return w.ResponseWriter }

// end writes the end of gzip, and gives the compressor back.
func (w *gzipWriter) end() {
	if w.to == nil {
		return
	}
	_ = w.to.Close() // a caller who has disconnected cannot be notified
	w.writers.Put(w.to)
}
