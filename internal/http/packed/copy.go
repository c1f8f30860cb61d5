package packed

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	nethttp "net/http"
	"strconv"
	"strings"
)

// Copy is an answer that many callers share, plain and compressed, and its tag. It is
// compressed only once: no caller can make the service repeat that for each request. It
// is immutable.
type Copy struct {
	plain []byte
	// small is nil if plain is too short to be compressed.
	small []byte
	tag   string
}

// New returns the copy of an answer.
func New(plain []byte) *Copy {
	sum := sha256.Sum256(plain)
	c := &Copy{plain: plain, tag: strconv.Quote(hex.EncodeToString(sum[:12]))}
	if len(plain) < Least {
		return c
	}
	var small bytes.Buffer
	w, _ := gzip.NewWriterLevel(&small, gzip.BestSpeed) // the level is valid
	_, _ = w.Write(plain)                               // writes to memory: cannot fail
	_ = w.Close()
	c.small = small.Bytes()
	return c
}

// size returns the memory of a copy, in bytes; 0 for nil.
func (c *Copy) size() int {
	if c == nil {
		return 0
	}
	return len(c.plain) + len(c.small)
}

// Choose returns the form of the answer for a caller with the request headers asked,
// and sets the answer's headers h. isKnown means that the caller already has the
// answer.
func (c *Copy) Choose(asked, h nethttp.Header) (body []byte, isKnown bool) {
	h["Etag"] = []string{c.tag}
	body, isKnown = c.plain, matches(asked, c.tag)
	if c.small == nil {
		return body, isKnown
	}
	h.Set("Vary", "Accept-Encoding")
	if Accepts(asked) {
		asGzip(h)
		body = c.small
	}
	return body, isKnown
}

// matches reports whether If-None-Match names a tag, so that the caller already has the
// answer.
func matches(h nethttp.Header, tag string) bool {
	for wanted := range strings.SplitSeq(strings.Join(h["If-None-Match"], ","), ",") {
		wanted = strings.TrimSpace(wanted)
		if wanted == "*" || PlainTag(strings.TrimPrefix(wanted, "W/")) == tag {
			return true
		}
	}
	return false
}
