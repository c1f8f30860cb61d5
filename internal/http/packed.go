package http

import (
	"bytes"
	"compress/gzip"
	nethttp "net/http"
)

// packed is an answer that many callers share, as it is and compressed. It is
// compressed once: nobody can have the service do it again for each request.
type packed struct {
	plain []byte
	// small is nil where plain is too short to be worth it.
	small []byte
}

func pack(plain []byte) packed {
	if len(plain) < gzipLeast {
		return packed{plain: plain}
	}
	var small bytes.Buffer
	w, _ := gzip.NewWriterLevel(&small, gzip.BestSpeed) // the level is one
	_, _ = w.Write(plain)                               // to memory: cannot fail
	_ = w.Close()
	return packed{plain, small.Bytes()}
}

func (p packed) size() int { return len(p.plain) + len(p.small) }

// chosen is what a caller gets of p. Its headers are set, if there is a choice.
func (c call) chosen(p packed) []byte {
	if p.small == nil {
		return p.plain
	}
	h := c.gin.Writer.Header()
	h.Set("Vary", "Accept-Encoding")
	if !acceptsGzip(c.gin.Request.Header) {
		return p.plain
	}
	asGzip(h)
	return p.small
}

// writePacked answers with p.
func (c call) writePacked(p packed) { c.write(nethttp.StatusOK, c.chosen(p)) }
