package ticket

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// issuer signs tickets as a shop does.
type issuer struct {
	secret  []byte
	public  ed25519.PublicKey
	private ed25519.PrivateKey
}

func newIssuer(t *testing.T) issuer {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return issuer{[]byte(rand.Text() + rand.Text()), public, private}
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// file returns the issuer's JWKS with the keys hs and ed.
func (i issuer) file() string {
	return `{"keys":[{"kty":"oct","kid":"hs","k":"` + b64(i.secret) + `"},` +
		`{"kty":"OKP","crv":"Ed25519","kid":"ed","alg":"EdDSA","use":"sig","x":"` + b64(i.public) + `","extra":1}]}`
}

func (i issuer) keeper(t *testing.T) *Keeper {
	t.Helper()
	keys, err := ParseKeys([]byte(i.file()))
	require.NoError(t, err)
	return NewKeeper(keys)
}

func sign(t *testing.T, method jwt.SigningMethod, kid string, key any, c jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, c)
	if kid != "" {
		token.Header["kid"] = kid
	}
	signed, err := token.SignedString(key)
	require.NoError(t, err)
	return signed
}

// good returns valid claims of a ticket, with some replaced.
func good(pairs ...any) jwt.MapClaims {
	c := jwt.MapClaims{"pool": "spring", "sub": "u1", "jti": "order-1", "exp": 4_000_000_000}
	for i := 0; i < len(pairs); i += 2 {
		if c[pairs[i].(string)] = pairs[i+1]; pairs[i+1] == nil {
			delete(c, pairs[i].(string))
		}
	}
	return c
}

func TestReadReturnsTheDrawOfAGenuineTicket(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	k := i.keeper(t)
	want := draw.Request{PoolID: "spring", UserID: "u1", DrawID: "order-1", Named: true, Count: 1, TicketUntil: time.Unix(4_000_000_000, 0).UTC()}
	for _, ticket := range []string{
		sign(t, jwt.SigningMethodHS256, "hs", i.secret, good()),
		sign(t, jwt.SigningMethodEdDSA, "ed", i.private, good("nbf", time.Now().Unix(), "iss", "shop", "aud", []string{"x"})),
	} {
		got, err := k.Read(ticket)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := k.Read(sign(t, jwt.SigningMethodHS256, "hs", i.secret, good("count", 3, "exp", 1_000_000_000)))
	require.NoError(t, err, "one that has expired is read: its draw may be known")
	require.Equal(t, 3, got.Count)
	require.Equal(t, time.Unix(1_000_000_000, 0).UTC(), got.TicketUntil)
}

// TestReadRefuses: every invalid ticket gets the same answer, which does not say why.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	i, other := newIssuer(t), newIssuer(t)
	k := i.keeper(t)
	hs := func(c jwt.MapClaims) string { return sign(t, jwt.SigningMethodHS256, "hs", i.secret, c) }
	genuine := hs(good())
	parts := strings.Split(genuine, ".")
	payload := func(c jwt.MapClaims) string {
		b, err := json.Marshal(c)
		require.NoError(t, err)
		return b64(b)
	}
	critical := jwt.NewWithClaims(jwt.SigningMethodHS256, good())
	critical.Header["kid"], critical.Header["crit"] = "hs", []string{"b64"}
	withCrit, err := critical.SignedString(i.secret)
	require.NoError(t, err)
	for name, ticket := range map[string]string{
		"empty": "", "no ticket": "x", "two parts": parts[0] + "." + parts[1], "four parts": genuine + ".x",
		"forged":                   sign(t, jwt.SigningMethodHS256, "hs", other.secret, good()),
		"forged Ed25519":           sign(t, jwt.SigningMethodEdDSA, "ed", other.private, good()),
		"tampered":                 parts[0] + "." + payload(good("sub", "u2")) + "." + parts[2],
		"another spelling":         genuine[:len(genuine)-1] + string(alike(genuine[len(genuine)-1])),
		"no signature":             parts[0] + "." + parts[1] + ".",
		"alg none":                 sign(t, jwt.SigningMethodNone, "hs", jwt.UnsafeAllowNoneSignatureType, good()),
		"alg none, no kid":         sign(t, jwt.SigningMethodNone, "", jwt.UnsafeAllowNoneSignatureType, good()),
		"public key as a secret":   sign(t, jwt.SigningMethodHS256, "ed", []byte(i.public), good()),
		"another algorithm":        sign(t, jwt.SigningMethodHS512, "hs", i.secret, good()),
		"swapped kid":              sign(t, jwt.SigningMethodEdDSA, "hs", i.private, good()),
		"unknown kid":              sign(t, jwt.SigningMethodHS256, "h", i.secret, good()),
		"no kid":                   sign(t, jwt.SigningMethodHS256, "", i.secret, good()),
		"crit":                     withCrit,
		"no exp":                   hs(good("exp", nil)),
		"exp that is no time":      hs(good("exp", "tomorrow")),
		"not yet":                  hs(good("nbf", time.Now().Add(time.Minute).Unix())),
		"no pool":                  hs(good("pool", nil)),
		"pool that cannot be":      hs(good("pool", "S P")),
		"no user":                  hs(good("sub", nil)),
		"user that cannot be":      hs(good("sub", " u")),
		"no id":                    hs(good("jti", nil)),
		"id that cannot be":        hs(good("jti", "ü")),
		"count 0":                  hs(good("count", 0)),
		"count 101":                hs(good("count", 101)),
		"count that is no integer": hs(good("count", 1.5)),
	} {
		got, err := k.Read(ticket)
		require.Zero(t, got, name)
		e, ok := errors.AsType[*draw.Error](err)
		require.True(t, ok, name)
		require.Equal(t, draw.CodeTicketInvalid, e.Code, name)
		require.Equal(t, "the ticket is not valid", e.Detail, name)
	}
	_, err = NewKeeper(nil).Read(genuine)
	require.Equal(t, draw.CodeTicketInvalid, draw.CodeOf(err), "without keys nothing is genuine")
}

// alike returns another last letter for the signature of HS256. It differs only in a bit
// that lenient base64 decoders ignore.
func alike(last byte) byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return letters[strings.IndexByte(letters, last)^1]
}

func TestReplace(t *testing.T) {
	t.Parallel()
	first, second := newIssuer(t), newIssuer(t)
	k := first.keeper(t)
	old := sign(t, jwt.SigningMethodHS256, "hs", first.secret, good())
	_, err := k.Read(old)
	require.NoError(t, err)
	keys, err := ParseKeys([]byte(second.file()))
	require.NoError(t, err)
	k.Replace(keys)
	_, err = k.Read(old)
	require.Error(t, err)
	_, err = k.Read(sign(t, jwt.SigningMethodHS256, "hs", second.secret, good()))
	require.NoError(t, err)
}

// TestKeysThatCannotBe: the error says which key is invalid, and contains no part of it.
func TestKeysThatCannotBe(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("QUJD", 11)
	oct := func(more string) string { return `{"keys":[{"kty":"oct","kid":"a","k":"` + secret + `"` + more + `}]}` }
	_, err := ParseKeys([]byte(oct("")))
	require.NoError(t, err)
	x := b64(make([]byte, 32))
	for text, want := range map[string]string{
		"":                             "must be a JWKS",
		`[]`:                           "must be a JWKS",
		`{}`:                           "1 to 64 keys, and holds 0",
		oct(`,"alg":"HS512"`):          `key 1 ("a"): alg of an oct key must be HS256`,
		oct(`,"use":"enc"`):            "use must be sig",
		oct(`,"kty":"RSA"`):            "kty must be oct or OKP",
		oct(`,"kid":""`):               "kid is missing",
		oct(`,"k":"QUJD"`):             "at least 32 bytes",
		oct(`,"k":"` + secret + `=="`): "in base64url without padding",
		oct("")[:len(oct(""))-2] + `,{"kty":"oct","kid":"a","k":"` + secret + `"}]}`:         `key 2 ("a"): another key has the same kid`,
		`{"keys":[{"kty":"OKP","kid":"a","crv":"X25519","x":"` + x + `"}]}`:                  "crv of an OKP key must be Ed25519",
		`{"keys":[{"kty":"OKP","kid":"a","crv":"Ed25519","x":"AAAA"}]}`:                      "x must be 32 bytes",
		`{"keys":[{"kty":"OKP","kid":"a","crv":"Ed25519","alg":"RS256","x":"` + x + `"}]}`:   "alg of an Ed25519 key must be EdDSA",
		`{"keys":[{"kty":"OKP","kid":"a","crv":"Ed25519","x":"` + x + `","d":"` + x + `"}]}`: "d is the private key",
	} {
		_, err := ParseKeys([]byte(text))
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), secret)
	}
}
