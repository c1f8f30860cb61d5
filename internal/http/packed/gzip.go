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

// Least is the minimum size of an answer that is worth compressing, in bytes. A stream,
// whose size is unknown, is always compressed.
const Least = 1400

// Accepts reports whether the caller accepts gzip, by its name or by an asterisk.
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
				weight, _ = strconv.ParseFloat(q, 64) // an invalid number counts as 0
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

// NewCompressor returns a compressor for the sync.Pool of a Writer; it keeps some 800
// kB.
func NewCompressor() any {
	w, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
	return w
}

// Writer compresses an answer. It passes the answer on unchanged if the headers show that
// it is short or not a success.
type Writer struct {
	gin.ResponseWriter
	writers *sync.Pool
	begun   bool
	// to is nil for an answer that is passed on.
	to *gzip.Writer
}

// NewWriter returns a writer that writes to w. writers contains compressors of
// NewCompressor.
func NewWriter(w gin.ResponseWriter, writers *sync.Pool) *Writer {
	return &Writer{ResponseWriter: w, writers: writers}
}

// gzipTag is the end of a compressed answer's tag.
const gzipTag = "-gzip"

// asGzip sets the headers of a compressed answer. Its tag differs from that of the plain
// answer, because its bytes differ (RFC 9110). The tag is strong, because If-Match does
// not accept weak tags.
func asGzip(h nethttp.Header) {
	h.Set("Content-Encoding", "gzip")
	if tag, isTag := strings.CutSuffix(h.Get("ETag"), `"`); isTag {
		h.Set("ETag", tag+gzipTag+`"`)
	}
}

// PlainTag returns the tag of the same answer before compression.
func PlainTag(tag string) string {
	if compressed, is := strings.CutSuffix(tag, gzipTag+`"`); is {
		return compressed + `"`
	}
	return tag
}

// begin decides whether to compress, before the headers are sent.
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

// FlushError sends the written bytes, for http.ResponseController.
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
