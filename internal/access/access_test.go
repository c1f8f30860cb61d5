package access

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func line(t *testing.T, name string, role Role, until time.Time) (token, entry string) {
	t.Helper()
	token, made, err := Generate(name, role, until)
	require.NoError(t, err)
	entry, err = FileEntry(&made)
	require.NoError(t, err)
	return token, entry
}

func TestFileRoundTrip(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	a, first := line(t, "ci", Admin, time.Time{})
	b, second := line(t, "ci", Admin, now)
	c, third := line(t, "shop", Draw, now.Add(time.Second))
	require.GreaterOrEqual(t, len(a), 26)
	tokens, unread, err := ParseFile([]byte(`{"tokens":[` + first + "," + second + "," + third + "]}\n"))
	require.NoError(t, err)
	require.Empty(t, unread)
	set, err := NewSet(tokens...)
	require.NoError(t, err)
	for token, want := range map[string]Token{a: tokens[0], b: tokens[1], c: tokens[2]} {
		got, found := set.Find(DigestOf(token))
		require.True(t, found)
		require.Equal(t, want, *got)
	}
	_, found := set.Find(DigestOf(a + "x"))
	require.False(t, found)
	require.False(t, tokens[0].Expired(now.AddDate(1000, 0, 0)))
	require.True(t, tokens[1].Expired(now), "the end itself is too late")
	require.False(t, tokens[2].Expired(now))
	require.True(t, set.HasValid(Draw, now))
	require.False(t, set.HasValid(Draw, now.Add(time.Second)))
	require.True(t, set.Has(Draw))
	require.False(t, set.Has(Metrics))
}

func TestFilesThatCannotBe(t *testing.T) {
	t.Parallel()
	const sum = `"sha256":"0000000000000000000000000000000000000000000000000000000000000000"`
	one := `{"name":"ci","role":"admin",` + sum + `}`
	many := make([]string, FileMax+1)
	for i := range many {
		many[i] = fmt.Sprintf(`{"name":"n","role":"draw","sha256":"%064x"}`, i)
	}
	_, _, err := ParseFile([]byte(`{"tokens":[` + strings.Join(many[:FileMax], ",") + `]}`))
	require.NoError(t, err)
	for text, want := range map[string]string{
		"":                              "must be JSON",
		"ci:admin:x":                    "must be JSON",
		`{"tokens":[` + one + `]} more`: "must be JSON",
		`{"tokens":[],"x":1}`:           "must be JSON",
		`{"tokens":[]}`:                 "1 to 64 tokens, and holds 0",
		`{"tokens":[` + strings.Join(many, ",") + `]}`:                             "1 to 64 tokens, and holds 65",
		`{"tokens":[{"name":"C I","role":"admin",` + sum + `}]}`:                   `entry 1 ("C I"): name must match`,
		`{"tokens":[{"name":"ci",` + sum + `}]}`:                                   "role must be one of admin, stock, auditor, fulfil, draw, metrics",
		`{"tokens":["ci"]}`:                                                        "must be JSON",
		`{"tokens":[{"name":"ci","role":"admin","sha256":"00"}]}`:                  "sha256 must be 64",
		`{"tokens":[{"name":"ci","role":"admin","until":"tomorrow",` + sum + `}]}`: "until must be a time",
		`{"tokens":[{"name":"ci","role":"admin","sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}]}`: `entry 1 ("ci"): sha256 is the digest of an empty token`,
		`{"tokens":[{"name":"ci","role":"draw","sha256":"01BA4719C80B6FE911B091A7C05124B64EEECE964E09C058EF8F9805DACA546B"}]}`:  "sha256 is the digest of an empty token",
		`{"tokens":[` + one + `,` + one + `]}`: "are the same",
		`{"tokens":[` + one + `,{"name":"ci","role":"draw","sha256":"` + strings.Repeat("1", 64) + `"}]}`: "a name has one role",
	} {
		_, _, err := ParseFile([]byte(text))
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), strings.Repeat("0", 64))
	}
}

// TestEntriesOfALaterRelease: an entry with an unknown role or member is ignored
// completely, and the other entries are used.
func TestEntriesOfALaterRelease(t *testing.T) {
	t.Parallel()
	_, own := line(t, "ci", Admin, time.Time{})
	for _, later := range []string{
		`{"name":"packer","role":"packer","sha256":"` + strings.Repeat("1", 64) + `"}`,
		`{"name":"packer","role":"admin","pools":["spring"],"sha256":"` + strings.Repeat("1", 64) + `"}`,
	} {
		tokens, unread, err := ParseFile([]byte(`{"tokens":[` + later + "," + own + `]}`))
		require.NoError(t, err)
		require.Len(t, tokens, 1)
		require.Equal(t, "ci", tokens[0].Name)
		require.Equal(t, []string{`entry 1 ("packer") has a member or a role that this release does not know`}, unread)
	}
}

// TestKeeperStaysClosed: once draws need a token, replacing the set of tokens never
// opens them again.
func TestKeeperStaysClosed(t *testing.T) {
	t.Parallel()
	open, err := NewSet(Token{Name: "a", Role: Admin})
	require.NoError(t, err)
	closed, err := NewSet(Token{Name: "a", Role: Draw})
	require.NoError(t, err)
	k := NewKeeper(open)
	require.False(t, k.Closed())
	k.Replace(closed)
	require.True(t, k.Closed())
	k.Replace(open)
	require.True(t, k.Closed())
	require.Same(t, open, k.Set())
}

// TestNextEnd: a name ends when its last token expires. Names that have already ended are
// ignored.
func TestNextEnd(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	at := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
	end := func(tokens ...Token) time.Time {
		for i := range tokens {
			tokens[i].Role, tokens[i].Digest = Draw, DigestOf(strings.Repeat("x", i+1))
		}
		s, err := NewSet(tokens...)
		require.NoError(t, err)
		return s.NextEnd(now)
	}
	require.Zero(t, end())
	require.Zero(t, end(Token{Name: "shop"}))
	require.Equal(t, at(2), end(Token{Name: "shop", Until: at(2)}, Token{Name: "app", Until: at(3)}, Token{Name: "ci"}))
	require.Equal(t, at(9), end(Token{Name: "shop", Until: at(2)}, Token{Name: "shop", Until: at(9)}), "it has a successor")
	require.Zero(t, end(Token{Name: "shop"}, Token{Name: "shop", Until: at(2)}))
	require.Zero(t, end(Token{Name: "shop", Until: at(2)}, Token{Name: "shop"}))
	require.Zero(t, end(Token{Name: "shop", Until: at(0)}), "it has ended")
	require.Equal(t, at(5), end(Token{Name: "shop", Until: at(-1)}, Token{Name: "app", Until: at(5)}))
}
