package http

import (
	nethttp "net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

func TestIdempotencyKey(t *testing.T) {
	long := strings.Repeat("k", draw.KeyMax)
	for sent, want := range map[string]string{
		"abc": "abc", `"abc"`: "abc", `"a\"b"`: `a"b`, `a\b`: `a\b`, `"a b, c"`: "a b, c", "a'b": "a'b", "~!": "~!", "0": "0",
		`"a\"b\\c"`: `a"b\c`, `" a "`: " a ", `"a, b"`: "a, b", `"\\"`: `\`, long: long, `"` + long + `"`: long,
		`"` + strings.Repeat(`\\`, draw.KeyMax) + `"`: strings.Repeat(`\`, draw.KeyMax),
	} {
		key, err := idempotencyKey(nethttp.Header{keyHeader: {sent}})
		require.NoError(t, err, sent)
		require.Equal(t, want, key, sent)
	}
	for _, sent := range []string{
		"", `""`, `"`, `"abc`, `"a"b"`, `"a\`, `"a\"`, `"a\n"`, `"a";q=1`, `"a", "b"`, long + "k", `"` + long + `k"`,
		"a, a", "join-1,join-1", "a b", `a"b`, `abc"`, " ", ",", "ü", "\"\u00fc\"", "a\tb", "\x7f", "a\x00", "\xff",
	} {
		_, err := idempotencyKey(nethttp.Header{keyHeader: {sent}})
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%q", sent)
	}
	key, err := idempotencyKey(nethttp.Header{})
	require.NoError(t, err)
	require.Empty(t, key)
	_, err = idempotencyKey(nethttp.Header{keyHeader: {"a", "a"}})
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err))
}

func TestBadKeyChangesNothing(t *testing.T) {
	for _, target := range []string{"/draw", "/admin/pools/p/prizes/a/stock"} {
		for _, call := range calls() {
			if call.target != target {
				continue
			}
			f := &fake{}
			r := asAdmin(call.method, call.target, call.body, "idempotency-key", "")
			require.Equal(t, "invalid-request", problemIn(t, do(newServer(t, f), r).Result()).Code)
			require.Nil(t, f.last())
		}
	}
}

func FuzzIdempotencyKey(f *testing.F) {
	for _, seed := range []string{"abc", `"abc"`, `"a\"b\\"`, `"`, `""`, "", "ü", `"a\n"`, "a,b", "\x7f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		key, err := idempotencyKey(nethttp.Header{keyHeader: {sent}})
		if err != nil {
			require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err))
			return
		}
		require.NoError(t, draw.CheckKey(key))
		// Every accepted key can be quoted, and then reads the same.
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		again, err := idempotencyKey(nethttp.Header{keyHeader: {quoted}})
		require.NoError(t, err)
		require.Equal(t, key, again)
	})
}

// FuzzPath sends pool ids and names of draws through the path and back.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"abc", "a/b", "a%2Fb", "100%", "a b", " ", ".", "..", "a+b", "a?b#c", "a;b=c", "*", ":draw", "a//b", `"'<>\`, "ü", "\x00", "",
		strings.Repeat("/", draw.KeyMax),
	} {
		f.Add("spring", seed)
		f.Add(seed, "d")
	}
	service := &fake{}
	s := newServer(f, service)
	f.Fuzz(func(t *testing.T, poolID, drawID string) {
		service.asked = nil
		r, err := nethttp.NewRequest("GET", "http://x/pools/"+url.PathEscape(poolID)+"/draws/"+url.PathEscape(drawID), nil)
		require.NoError(t, err)
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		switch {
		case poolID == "" || drawID == "":
			require.Contains(t, []int{400, 404}, w.Code)
			require.Nil(t, service.last())
		case draw.CheckID("pool", poolID) != nil || draw.CheckKey(drawID) != nil:
			require.Equal(t, 400, w.Code)
			require.Nil(t, service.last())
		default:
			require.Equal(t, 200, w.Code, w.Body)
			require.Equal(t, [2]string{poolID, drawID}, service.last())
		}
	})
}
