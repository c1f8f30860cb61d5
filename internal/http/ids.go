package http

import (
	"crypto/rand"
	"strconv"
	"sync/atomic"
)

// ids makes the ids of requests: every answer has one, so they are cheap. The first
// part is random and identifies this process.
type ids struct {
	process string
	last    *atomic.Uint64
}

func newIDs() ids { return ids{rand.Text()[:16] + "-", new(atomic.Uint64)} }

func (i ids) next() string {
	id := append(make([]byte, 0, 32), i.process...)
	return string(strconv.AppendUint(id, i.last.Add(1), 36))
}
