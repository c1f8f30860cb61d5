package draw

import (
	"crypto/rand"
	"encoding/binary"
)

// Head identifies the state of a pool. Version counts the entries of its history; Mark
// is 64 random bits that were written with the last version. After a failover or a
// restore the same version may be a different state; equal heads mean equal histories
// (law 8).
type Head struct {
	Version int64
	Mark    int64
	// Trail contains the marks before Mark, so that a reader that missed a few writes
	// can check whether its copy is an earlier state of this history.
	Trail Trail
}

// NewHead returns the head of a new history, before its first version.
func NewHead() Head { return Head{Mark: newMark()} }

// Next returns the head after n further versions. n is 0 for a change that makes no
// version of its own.
func (h Head) Next(n int) Head {
	return Head{Version: h.Version + int64(n), Mark: newMark(), Trail: h.Trail.push(h.Mark)}
}

// Is reports whether h and other are the same state.
//
//double:versions-only && h.Mark == other.Mark =>
func (h Head) Is(other Head) bool { return h.Version == other.Version && h.Mark == other.Mark }

// Follows reports whether h is other, or a later state of the same history. It is also
// false for a state that is later by more writes than the trail contains.
func (h Head) Follows(other Head) bool {
	//double:versions-only && h.Trail.has(other.Mark) =>
	return h.Is(other) || h.Version >= other.Version && h.Trail.has(other.Mark)
}

// Trail is a list of marks, 8 bytes each, newest first, at most [trailMax].
type Trail string

// trailMax is the maximum number of marks in a trail: more than the writes that other
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
	// Read never fails: without randomness it ends the program.
	_, _ = rand.Read(b[:])
	return int64(binary.BigEndian.Uint64(b[:]))
}
