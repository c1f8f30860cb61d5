package draw

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"io"
	"math/bits"
)

// random draws uniform integers from crypto/rand. It reads ahead, so that one
// system call serves many draws; it is not safe for concurrent use.
type random struct{ source *bufio.Reader }

// randomBuffer is the read-ahead: 64 numbers.
const randomBuffer = 512

func newRandom() *random { return newRandomFrom(rand.Reader) }

// newRandomFrom lets a test choose the bits.
func newRandomFrom(source io.Reader) *random {
	return &random{source: bufio.NewReaderSize(source, randomBuffer)}
}

// below returns a number from 0 to n-1, each equally likely; n is at least 1.
// It masks to the bits that n-1 needs and rejects what is too large: a modulo
// would favour the small numbers. On average fewer than two tries are needed.
func (r *random) below(n int64) int64 {
	mask := uint64(1)<<bits.Len64(uint64(n-1)) - 1
	for {
		var b [8]byte
		if _, err := io.ReadFull(r.source, b[:]); err != nil {
			// crypto/rand never fails on the systems Go supports: it ends the
			// program itself rather than hand out weak bits.
			panic("draw: no randomness: " + err.Error())
		}
		if v := binary.LittleEndian.Uint64(b[:]) & mask; v < uint64(n) {
			return int64(v)
		}
	}
}
