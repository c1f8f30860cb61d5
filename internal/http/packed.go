package http

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	nethttp "net/http"
	"strconv"
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

// copied is an answer that many callers share, and its tag. It is never changed.
type copied struct {
	packed
	tag string
}

func newCopied(body []byte) *copied {
	sum := sha256.Sum256(body)
	return &copied{pack(body), strconv.Quote(hex.EncodeToString(sum[:12]))}
}

// size is what an answer keeps in memory, in bytes; that of none is 0.
func (a *copied) size() int {
	if a == nil {
		return 0
	}
	return len(a.plain) + len(a.small)
}

// writeCopied answers with a, or says that the caller has it already.
func (c call) writeCopied(a *copied) {
	h := c.gin.Writer.Header()
	h["Etag"] = []string{a.tag}
	body := c.chosen(a.packed)
	if matches(c.gin.Request.Header, a.tag) {
		h.Del("Content-Encoding") // there is no content
		h.Del("Content-Type")
		c.gin.Writer.WriteHeader(nethttp.StatusNotModified)
		c.gin.Writer.WriteHeaderNow()
		return
	}
	c.write(nethttp.StatusOK, body)
}

// writeOpenly answers with what holds no secret: callers may keep it, and ask with its
// tag whether it is still the same.
func (c call) writeOpenly(a *copied) {
	c.gin.Writer.Header()["Cache-Control"] = []string{"no-cache"}
	c.writeCopied(a)
}
