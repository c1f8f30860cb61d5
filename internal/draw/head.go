package draw

import (
	"crypto/rand"
	"encoding/binary"
)

// Head names the state that a pool is in. Version counts what has happened to
// the pool; Mark is 64 random bits that were written with it. After a failover
// or a restore the same version may be another state: equal heads mean equal
// histories (law 8).
type Head struct {
	Version int64
	Mark    int64
	// Trail holds the marks before Mark, so that a reader who was away for a
	// few writes can tell whether its copy is a former state of this history.
	Trail Trail
}

// NewHead names the beginning of a pool's history, before its first version.
func NewHead() Head { return Head{Mark: newMark()} }

// Next names the state that n versions more make of h. n is 0 for a change
// that makes no version of its own.
func (h Head) Next(n int) Head {
	return Head{Version: h.Version + int64(n), Mark: newMark(), Trail: h.Trail.push(h.Mark)}
}

// Is says that h and other name the same state.
//
//double:versions-only && h.Mark == other.Mark =>
func (h Head) Is(other Head) bool { return h.Version == other.Version && h.Mark == other.Mark }

// Follows says that h is other, or a later state of the same history. It is
// also false for a state that is later by more writes than the trail holds.
func (h Head) Follows(other Head) bool {
	//double:versions-only && h.Trail.has(other.Mark) =>
	return h.Is(other) || h.Version >= other.Version && h.Trail.has(other.Mark)
}

// Trail is a list of marks, 8 bytes each, newest first, at most [trailMax].
type Trail string

// trailMax is how many marks a trail holds: more than the writes that other
// instances usually make between two reads of one instance.
const trailMax = 8

const markSize = 8

func (t Trail) push(mark int64) Trail {
	kept := t[:min(len(t), (trailMax-1)*markSize)]
	return Trail(binary.BigEndian.AppendUint64(nil, uint64(mark))) + kept
}

func (t Trail) has(mark int64) bool {
	for ; len(t) >= markSize; t = t[markSize:] {
		if int64(binary.BigEndian.Uint64([]byte(t[:markSize]))) == mark {
			return true
		}
	}
	return false
}

func newMark() int64 {
	var b [markSize]byte
	// Read never fails: where there is no randomness it ends the program.
	_, _ = rand.Read(b[:])
	return int64(binary.BigEndian.Uint64(b[:]))
}
