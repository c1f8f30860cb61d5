package draw

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// FeedCursor is a place in the feed of awards over all pools: after one version, in one
// segment of the feed. The zero cursor is the beginning.
type FeedCursor struct {
	// Segment is the segment's number, and Version is the last version that was read.
	// Mark is the segment's mark. If it differs, the cursor belongs to another order of
	// the feed.
	Segment, Version, Mark int64
	// PoolID is the pool of the segment.
	PoolID string
}

// String returns the cursor as callers store it.
func (c FeedCursor) String() string {
	text := fmt.Sprintf("%d.%d.%x.%s", c.Segment, c.Version, uint64(c.Mark), c.PoolID)
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// ParseFeedCursor reads the text that [FeedCursor.String] returns. Error:
// CodeInvalidRequest.
func ParseFeedCursor(s string) (c FeedCursor, err error) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	parts := strings.SplitN(string(text), ".", 4)
	if err == nil && len(parts) == 4 {
		var mark uint64
		if c.Segment, err = strconv.ParseInt(parts[0], 10, 64); err == nil {
			c.Version, err = strconv.ParseInt(parts[1], 10, 64)
		}
		if err == nil {
			mark, err = strconv.ParseUint(parts[2], 16, 64)
		}
		c.Mark, c.PoolID = int64(mark), parts[3]
	}
	if err != nil || c.String() != s || c.Segment < 0 || c.Version < 0 {
		return c, Errorf(CodeInvalidRequest, "after must be a cursor of this feed, or now")
	}
	return c, nil
}

// FeedQuery selects awards of the feed.
type FeedQuery struct {
	After FeedCursor
	// Until is the last segment that is read, 0 for any.
	Until int64
	// Wins leaves out losing tickets.
	Wins bool
	// AcceptFork continues the feed although a pool has lost versions that were in it.
	AcceptFork bool
	Limit      int
}

// FeedAward is an award of the feed. Next is the cursor after it.
type FeedAward struct {
	Award
	PoolID string
	Next   FeedCursor
}

// FeedPage is a page of the feed.
type FeedPage struct {
	Awards []FeedAward
	// Next continues after the page. IsEnd reports whether nothing follows at present.
	Next  FeedCursor
	IsEnd bool
}

// ErrorFeedForked returns the error of a pool that has lost versions which were in the
// feed. version is the last version that the pool still has.
func ErrorFeedForked(poolID string, version int64) *Error {
	e := Errorf(CodeFeedForked, "pool %q has lost versions after %d that were in the feed; accept=fork continues", poolID, version)
	e.Fork = &Fork{poolID, version}
	return e
}

// Fork states that a pool has lost the versions after Version.
type Fork struct {
	PoolID  string
	Version int64
}
