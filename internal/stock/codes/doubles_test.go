package codes

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/seal"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// ringOf returns a ring of n keys, k1 first.
func ringOf(t *testing.T, n int) *seal.Ring {
	t.Helper()
	var lines []string
	for i := range n {
		secret := base64.StdEncoding.EncodeToString([]byte(fmt.Sprintf("%032d", i)))
		lines = append(lines, fmt.Sprintf("k%d %s", i+1, secret))
	}
	ring, err := seal.ParseKeys([]byte(strings.Join(lines, "\n")))
	require.NoError(t, err)
	return ring
}

// audited returns an audit of codes without a database, and the findings that it
// collects.
func audited(ring *seal.Ring, inUse ...string) (a *audit, found *[]string) {
	found = &[]string{}
	a = &audit{
		Audited: &ledger.Audited{PoolID: "p", Prizes: []draw.Prize{{ID: "card"}}}, ring: ring,
		found: func(rule, format string, args ...any) { *found = append(*found, rule+" "+fmt.Sprintf(format, args...)) },
		name:  []byte(codeName("p", "card")), doubtful: map[[seal.DigestLength]byte]place{}, strays: map[[seal.DigestLength]byte]place{},
		inUse: map[string]bool{},
	}
	for _, id := range inUse {
		a.inUse[id] = true
	}
	return a, found
}

// sealedAs returns a row that has one text and the digest of another text.
func sealedAs(k *seal.Key, text, ofDigest string) *scannedCode {
	digest := k.Digest([]byte(ofDigest))
	return &scannedCode{engine.Word(k.ID), k.Seal(codeName("p", "card"), []byte(text)), digest[:]}
}

// TestAuditFindsEqualStrays: two codes with the same text and wrong digests are reported,
// at any distance and under any keys. The broken double keeps such codes for only one
// page.
func TestAuditFindsEqualStrays(t *testing.T) {
	t.Parallel()
	ring := ringOf(t, 2)
	judge := func(page func(a *audit)) (doubles []string) {
		a, found := audited(ring, "k1", "k2")
		for i, row := range []*scannedCode{
			sealedAs(ring.Key("k1"), "twice", "x"), sealedAs(ring.Key("k1"), "once", "y"), sealedAs(ring.Key("k2"), "twice", "z"),
		} {
			a.opens(place{"card", int64(i + 1)}, row)
			page(a)
		}
		for _, f := range *found {
			if strings.HasPrefix(f, ruleCodeDouble) {
				doubles = append(doubles, f)
			}
		}
		return doubles
	}
	pages := func(a *audit) { clear(a.doubtful) }
	require.Equal(t, []string{`code-double places 1 of prize "card" and 3 of prize "card" have one code`}, judge(pages))
	require.Empty(t, judge(func(a *audit) { clear(a.strays) }), "the double")
}

// TestAuditSearchesWhatMayBeEqual: a code is searched under those keys in use that are
// earlier in the file than its own. A code with a wrong digest or an unknown key is
// searched under all keys. The broken double searches every code under each key of the
// file.
func TestAuditSearchesWhatMayBeEqual(t *testing.T) {
	t.Parallel()
	ring := ringOf(t, 4)
	for _, c := range []struct {
		key, digestOf string
		inUse         []string
		want          []string
	}{
		{"k2", "a", []string{"k2"}, nil}, // a rotation has begun, but no code is sealed under the first key yet
		{"k1", "a", []string{"k1", "k2"}, nil},
		{"k2", "a", []string{"k1", "k2"}, []string{"k1"}},
		{"k4", "a", []string{"k2", "k4"}, []string{"k2"}},
		{"k2", "b", []string{"k2"}, []string{"k1", "k2", "k3", "k4"}},
		{"k2", "a", []string{"k1"}, []string{"k1", "k3", "k4"}}, // the heads do not name the code's key
	} {
		a, _ := audited(ring, c.inUse...)
		a.opens(place{"card", 1}, sealedAs(ring.Key(c.key), "a", c.digestOf))
		var searched []string
		for _, k := range ring.Keys() {
			if _, is := a.doubtful[k.Digest([]byte("a"))]; is {
				searched = append(searched, k.ID)
			}
		}
		require.Equal(t, c.want, searched, c)
	}
}
