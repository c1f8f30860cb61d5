package draw

import (
	"encoding/base64"
	"strings"
)

const (
	// erasedPrefix and a tag replace an erased user.
	erasedPrefix = "erased:"
	// tagSize is the size of a tag, in bytes.
	tagSize = 16
)

// ErasedUser returns what replaces an erased user in the awards of a committed pool:
// the tag of the user in the pool's public log.
func ErasedUser(tag string) string { return erasedPrefix + tag }

// ErasedTag is the reverse of [ErasedUser]; erased is false for any other user. No
// request may use such a name, because it would draw as another user.
func ErasedTag(user string) (tag string, erased bool) {
	tag, found := strings.CutPrefix(user, erasedPrefix)
	if !found {
		return "", false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(tag)
	return tag, err == nil && len(b) == tagSize
}
