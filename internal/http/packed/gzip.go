package packed

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

// Least is the length of an answer from which on it is worth compressing, in bytes.
// A stream does not know its length, and is worth it.
const Least = 1400

// Accepts reports whether the caller takes gzip, by its name or by an asterisk.
func Accepts(h nethttp.Header) bool {
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

// NewCompressor returns what a Writer takes of its pool: a compressor, which keeps some 800 kB.
func NewCompressor() any {
	w, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is one
	return w
}

// Writer compresses an answer, or passes it on where its headers say that it is
// short or no success.
type Writer struct {
	gin.ResponseWriter
	writers *sync.Pool
	begun   bool
	// to is nil for an answer that is passed on.
	to *gzip.Writer
}

// NewWriter returns a writer in front of another one. writers holds compressors of
// NewCompressor.
func NewWriter(w gin.ResponseWriter, writers *sync.Pool) *Writer {
	return &Writer{ResponseWriter: w, writers: writers}
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

// PlainTag is the tag of the same answer as it is before it is compressed.
func PlainTag(tag string) string {
	if compressed, is := strings.CutSuffix(tag, gzipTag+`"`); is {
		return compressed + `"`
	}
	return tag
}

// begin decides, before the headers are sent.
func (w *Writer) begin() {
	if w.begun {
		return
	}
	w.begun = true
	h := w.Header()
	length, err := strconv.Atoi(h.Get("Content-Length"))
	if w.Status() != nethttp.StatusOK || err == nil && length < Least {
		return
	}
	h.Del("Content-Length")
	asGzip(h)
	w.to = w.writers.Get().(*gzip.Writer)
	w.to.Reset(w.ResponseWriter)
}

// WriteHeaderNow implements gin.ResponseWriter.
func (w *Writer) WriteHeaderNow() {
	w.begin()
	w.ResponseWriter.WriteHeaderNow()
}

// Write implements io.Writer.
func (w *Writer) Write(b []byte) (int, error) {
	w.begin()
	if w.to == nil {
		return w.ResponseWriter.Write(b)
	}
	return w.to.Write(b)
}

// WriteString implements io.StringWriter.
func (w *Writer) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// FlushError sends what was written, for http.ResponseController.
func (w *Writer) FlushError() error {
	if w.to != nil {
		if err := w.to.Flush(); err != nil {
			return err
		}
	}
	return nethttp.NewResponseController(w.ResponseWriter).Flush()
}

// Flush implements http.Flusher.
func (w *Writer) Flush() { _ = w.FlushError() } // a caller who has disconnected cannot be notified

// Unwrap is for http.ResponseController.
func (w *Writer) Unwrap() nethttp.ResponseWriter { return w.ResponseWriter }

// End writes the end of gzip, and gives the compressor back.
func (w *Writer) End() {
	if w.to == nil {
		return
	}
	_ = w.to.Close() // a caller who has disconnected cannot be notified
	w.writers.Put(w.to)
}
