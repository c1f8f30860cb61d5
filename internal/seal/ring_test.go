package seal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func line(t *testing.T, id string) string {
	t.Helper()
	made, err := NewLine(id)
	require.NoError(t, err)
	return made
}

// TestKeysSealAndOpen: the first key seals, and every key opens. A value does not open
// under another name, after a changed byte, or with another key of the same id.
func TestKeysSealAndOpen(t *testing.T) {
	t.Parallel()
	k1, k2 := line(t, "k1"), line(t, "k2")
	ring, err := ParseKeys([]byte("\ufeff# keys\r\n" + k2 + "\r\n\n" + k1 + "\n"))
	require.NoError(t, err)
	require.Equal(t, "k2", ring.First().ID)
	sealed := ring.First().Seal("spring", []byte("AAAA-1111"))
	require.NotContains(t, string(sealed), "AAAA")
	require.NotEqual(t, sealed, ring.First().Seal("spring", []byte("AAAA-1111")), "a nonce is used once")
	opened, err := ring.Key("k2").Open("spring", sealed)
	require.NoError(t, err)
	require.Equal(t, "AAAA-1111", string(opened))

	_, err = ring.Key("k2").Open("autumn", sealed)
	require.ErrorIs(t, err, errNotOpened)
	_, err = ring.Key("k1").Open("spring", sealed)
	require.ErrorIs(t, err, errNotOpened)
	sealed[len(sealed)-1] ^= 1
	_, err = ring.Key("k2").Open("spring", sealed)
	require.ErrorIs(t, err, errNotOpened)
	_, err = ring.Key("k2").Open("spring", sealed[:3])
	require.ErrorIs(t, err, errNotOpened)
}

// TestDigestsFind: equal values have equal digests under one key only.
func TestDigestsFind(t *testing.T) {
	t.Parallel()
	a, err := ParseKeys([]byte(line(t, "k1")))
	require.NoError(t, err)
	b, err := ParseKeys([]byte(line(t, "k1")))
	require.NoError(t, err)
	one := a.First().Digest([]byte("AAAA-1111"))
	require.Equal(t, one, a.First().Digest([]byte("AAAA-1111")))
	require.NotEqual(t, one, a.First().Digest([]byte("AAAA-1112")))
	require.NotEqual(t, one, b.First().Digest([]byte("AAAA-1111")))
}

// TestBadFilesNameTheLine: the error of a file that cannot be used names the line, and
// contains no byte of a key.
func TestBadFilesNameTheLine(t *testing.T) {
	t.Parallel()
	good := line(t, "k1")
	secret := strings.Fields(good)[1]
	many := ""
	for i := range KeysMax + 1 {
		many += line(t, "k"+strings.Repeat("x", i+1)) + "\n"
	}
	for text, want := range map[string]string{
		"":                             "no key",
		"# nothing\n":                  "no key",
		good + "\n" + good:             `line 2: the key "k1" is there twice`,
		"K1 " + secret:                 "line 1: the id of the key must match",
		"k1":                           "line 1: not of the form ID BASE64",
		good + " more":                 "line 1: not of the form ID BASE64",
		"\nk1 " + secret[:20]:          `line 2: the key "k1" is not the base64 of 32 bytes`,
		"k1 " + secret[:len(secret)-1]: `line 1: the key "k1" is not the base64 of 32 bytes`,
		many:                           "line 17: more than 16 keys",
	} {
		_, err := ParseKeys([]byte(text))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), secret[:12])
	}
	var none *Ring
	require.Nil(t, none.First())
	require.Nil(t, none.Key("k1"))
	require.Empty(t, none.Keys())
}
