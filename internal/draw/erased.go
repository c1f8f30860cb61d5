package draw

import (
	"encoding/base64"
	"strings"
)

const (
	// erasedPrefix and a tag are what is left of a user who was erased.
	erasedPrefix = "erased:"
	// tagSize is the size of a tag, in bytes.
	tagSize = 16
)

// ErasedUser is what the awards of a committed pool bear in place of a user who
// was erased: the tag by which the pool's public log calls him.
func ErasedUser(tag string) string { return erasedPrefix + tag }

// ErasedTag is the reverse of [ErasedUser]; erased is false for any other user.
// Nobody can draw under such a name, because he would draw as somebody else.
func ErasedTag(user string) (tag string, erased bool) {
	tag, found := strings.CutPrefix(user, erasedPrefix)
	if !found {
		return "", false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(tag)
	return tag, err == nil && len(b) == tagSize
}
