package house

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	// exampleKey matches a key that a page tells a reader to send, in a header or in a
	// ticket.
	exampleKey = regexp.MustCompile(`(?:Idempotency-Key: |jti=["']|"jti": ?")([^"'\s\\]+)`)
	// randomKey matches a UUIDv7, which rises with time, or a variable.
	randomKey = regexp.MustCompile(`^(?:[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|\$.*)$`)
)

// guessable returns the keys of a page that somebody else could guess, or that do not rise
// with time.
func guessable(page string) (found []string) {
	for _, key := range exampleKey.FindAllStringSubmatch(page, -1) {
		if !randomKey.MatchString(key[1]) {
			found = append(found, key[1])
		}
	}
	return found
}

// TestExampleKeysAreRandom: readers copy keys from pages. If somebody else can guess a
// key, they can use it first, and can then read the draw too.
func TestExampleKeysAreRandom(t *testing.T) {
	for _, name := range pages(t) {
		require.Empty(t, guessable(read(t, name)), name)
	}
	require.NotEmpty(t, exampleKey.FindAllString(read(t, "README.md"), -1))
}

// TestExampleKeysAreRandomCatches: the test finds keys that are order numbers, and keys
// that do not rise with time.
func TestExampleKeysAreRandomCatches(t *testing.T) {
	page := "-H 'Idempotency-Key: order-4711' \"Idempotency-Key: $key\" ticket(jti=\"o-1\", x) jti=made {\"jti\":\"7\"}\n" +
		"-H 'Idempotency-Key: 1c8e0b7a-5a53-4a1e-9d0b-6f0a2f3c7f11' -H 'Idempotency-Key: 019ac7de-5a53-7a1e-9d0b-6f0a2f3c7f11'"
	require.Equal(t, []string{"order-4711", "o-1", "7", "1c8e0b7a-5a53-4a1e-9d0b-6f0a2f3c7f11"}, guessable(page))
}
