package http

import (
	"bytes"
	"encoding/json"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

func TestMalformedDrawsNameTheMember(t *testing.T) {
	long := strings.Repeat("x", 5000)
	cases := []struct{ name, body, detail string }{
		{"empty", " \n", "the body is empty"},
		{"null", `null`, "the body must be a JSON object"},
		{"list", `[{"pool":"p","user":"u"}]`, "the body must be a JSON object"},
		{"text", `"pool"`, "the body must be a JSON object"},
		{"cut", `{"pool":"p","user":"u"`, "the body ends within its JSON"},
		{"cut in text", `{"pool":"p","user":"u`, "the body ends within its JSON"},
		{"no JSON", `{pool:"p"}`, "the body is not valid JSON at byte 1"},
		{"trailing object", `{"pool":"p","user":"u"}{}`, "the body is not valid JSON at byte 23"},
		{"trailing comma", `{"pool":"p","user":"u",}`, "the body is not valid JSON at byte 22"},
		{"trailing word", `{"pool":"p","user":"u"} x`, "the body is not valid JSON at byte 24"},
		{"byte order mark", "\ufeff" + `{"pool":"p","user":"u"}`, "the body must be a JSON object"},
		{"comment", `{"pool":"p",/**/"user":"u"}`, "the body is not valid JSON at byte 12"},
		{"unknown member", `{"pool":"p","user":"u","prize":"gold"}`, `unknown member "prize"`},
		{"long unknown member", `{"` + long + `":1}`, `unknown member "` + long[:100] + `…"`},
		{"other case", `{"Pool":"p","user":"u"}`, `unknown member "Pool"`},
		{"twice", `{"pool":"p","user":"u","user":"v"}`, `member "user" is there twice`},
		{"twice, escaped", `{"pool":"p","user":"u","us\u0065r":"v"}`, `member "user" is there twice`},
		{"fraction", `{"pool":"p","user":"u","count":1.0}`, `"count" must be a whole number`},
		{"exponent", `{"pool":"p","user":"u","count":1e2}`, `"count" must be a whole number`},
		{"quoted number", `{"pool":"p","user":"u","count":"1"}`, `"count" must be a whole number`},
		{"huge number", `{"pool":"p","user":"u","count":99999999999999999999}`, `"count" must be a whole number`},
		{"bool", `{"pool":"p","user":"u","count":true}`, `"count" must be a whole number`},
		{"plus", `{"pool":"p","user":"u","count":+1}`, "the body is not valid JSON at byte 31"},
		{"leading zero", `{"pool":"p","user":"u","count":01}`, "the body is not valid JSON at byte 32"},
		{"count null", `{"pool":"p","user":"u","count":null}`, "count must be 1 to 100"},
		{"count 0", `{"pool":"p","user":"u","count":0}`, "count must be 1 to 100"},
		{"count -0", `{"pool":"p","user":"u","count":-0}`, "count must be 1 to 100"},
		{"count -1", `{"pool":"p","user":"u","count":-1}`, "count must be 1 to 100"},
		{"count 101", `{"pool":"p","user":"u","count":101}`, "count must be 1 to 100"},
		{"user missing", `{"pool":"p"}`, "user is missing or empty"},
		{"user null", `{"pool":"p","user":null}`, "user is missing or empty"},
		{"user empty", `{"pool":"p","user":""}`, "user is missing or empty"},
		{"user number", `{"pool":"p","user":7}`, `"user" must be a string`},
		{"user object", `{"pool":"p","user":{"id":"u"}}`, `"user" must be a string`},
		{"user NUL", `{"pool":"p","user":"u\u0000"}`, "user holds a character that is not printable"},
		{"user line break", `{"pool":"p","user":"u\n"}`, "user holds a character that is not printable"},
		{"user raw NUL", "{\"pool\":\"p\",\"user\":\"u\x00\"}", "the body is not valid JSON at byte 21"},
		{"user too long", `{"pool":"p","user":"` + strings.Repeat("ü", 129) + `"}`, "user is longer than 128 characters"},
		{"user not UTF-8", "{\"pool\":\"p\",\"user\":\"\xff\"}", "the body is not valid JSON at byte 20"},
		{"user lone surrogate", `{"pool":"p","user":"\ud800"}`, "the body is not valid JSON at byte 20"},
		{"receipt text", `{"pool":"p","user":"u","receipt":"true"}`, `"receipt" must be true or false`},
		{"pool missing", `{"user":"u"}`, "pool is missing"},
		{"pool null", `{"pool":null,"user":"u"}`, "pool is missing"},
		{"pool upper", `{"pool":"Spring","user":"u"}`, `pool must match [a-z0-9][a-z0-9._-]{0,63}, not "Spring"`},
		{"pool too long", `{"pool":"` + strings.Repeat("a", 65) + `","user":"u"}`, "pool is longer than 64 characters"},
		{"deep", strings.Repeat(`{"a":`, 9000), `unknown member "a"`},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			f := &fake{}
			r := request("POST", "/draw", tc.body, "Content-Type", "application/json")
			p := problemIn(t, do(newServer(t, f), r).Result())
			require.Equal(t, "invalid-request", p.Code)
			require.Equal(t, "none", p.Outcome)
			require.True(t, strings.HasPrefix(p.Detail, tc.detail), "%q", p.Detail)
			require.Nil(t, f.last(), "nothing was asked of the service")
		})
	}
}

func TestGoodDrawsOfAllShapes(t *testing.T) {
	cases := []struct {
		name, body string
		want       draw.Request
	}{
		{"spaces", " \r\n\t{ \"pool\" : \"p\" , \"user\" : \"u\" }\n", draw.Request{PoolID: "p", UserID: "u", Count: 1}},
		{"any order", `{"count":100,"user":"u","pool":"p"}`, draw.Request{PoolID: "p", UserID: "u", Count: 100}},
		{"escapes", `{"pool":"\u0070","user":"\"\\\/ü\ud83d\ude00"}`, draw.Request{PoolID: "p", UserID: "\"\\/ü😀", Count: 1}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			f := &fake{}
			w := do(newServer(t, f), request("POST", "/draw", tc.body, "Idempotency-Key", "k"))
			require.Equal(t, 200, w.Code, w.Body)
			tc.want.DrawID, tc.want.Named = "k", true
			require.Equal(t, tc.want, f.last())
			var answer struct{ User string }
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
			require.Equal(t, tc.want.UserID, answer.User)
		})
	}
}

// TestCallsWithoutBodyRefuseOne: a call that needs no body takes an empty object, and
// refuses every member.
func TestCallsWithoutBodyRefuseOne(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := newServer(t, f)
	for _, e := range calls() {
		if e.method != nethttp.MethodPost || e.body != "" {
			continue
		}
		f.asked = nil
		p := problemIn(t, do(s, asAdmin("POST", e.target, `{"x":1}`)).Result())
		require.Equal(t, "invalid-request", p.Code, e.target)
		require.Nil(t, f.last(), e.target)
		require.Less(t, do(s, asAdmin("POST", e.target, `{}`)).Code, 300, e.target)
	}
}

func TestContentType(t *testing.T) {
	body := `{"pool":"p","user":"u"}`
	for kind, status := range map[string]int{
		"application/json":                         200,
		"application/json; charset=utf-8":          200,
		"Application/JSON;charset=\"UTF-8\"":       200,
		"":                                         415,
		"text/plain":                               415,
		"application/json; charset=latin1":         415,
		"application/json; profile=x":              415,
		"application/x-www-form-urlencoded":        415,
		"application/merge-patch+json":             415,
		"application/json, text/plain":             415,
		"application/json; charset=utf-8; charset": 415,
	} {
		r := request("POST", "/draw", body, "Content-Type", kind)
		require.Equal(t, status, do(newServer(t, &fake{}), r).Code, kind)
	}
	r := request("POST", "/draw", body)
	r.Header.Del("Content-Type")
	require.Equal(t, 415, do(newServer(t, &fake{}), r).Code, "none at all")
	r = request("POST", "/draw", body)
	r.Header.Add("Content-Type", "application/json")
	require.Equal(t, 415, do(newServer(t, &fake{}), r).Code, "twice")
	r = request("POST", "/draw", body, "Content-Encoding", "gzip")
	require.Equal(t, 415, do(newServer(t, &fake{}), r).Code, "encoded")
}

func TestBodySize(t *testing.T) {
	s := newServer(t, &fake{})
	of := func(size int) string {
		body := `{"pool":"p","user":"u"}`
		return body + strings.Repeat(" ", size-len(body))
	}
	require.Equal(t, 200, do(s, request("POST", "/draw", of(bodyMax))).Code)
	require.Equal(t, 413, do(s, request("POST", "/draw", of(bodyMax+1))).Code)
	unsized := request("POST", "/draw", of(bodyMax+1))
	unsized.ContentLength = -1
	require.Equal(t, 413, do(s, unsized).Code, "length not given")
	unsized = request("POST", "/draw", of(bodyMax))
	unsized.ContentLength = -1
	require.Equal(t, 200, do(s, unsized).Code)
}

func FuzzDrawBody(f *testing.F) {
	for _, seed := range []string{
		`{"pool":"p","user":"u","count":1}`, `{"pool":"p","user":"u"}`, `{"pool":"p","user":"ü\u0000"}`,
		`{"pool":null,"user":"u"}`, `{"pool":"p","pool":"q"}`, `{"count":1e2}`, `[]`, ``, `{`, "{\"user\":\"\xff\"}",
		`{"count":18446744073709551617}`, `{"a":{"b":[{"c":1}]}}`, `{"Pool":"p"}`,
	} {
		f.Add([]byte(seed))
	}
	service := &fake{}
	s := newServer(f, service)
	f.Fuzz(func(t *testing.T, body []byte) {
		service.asked = nil
		r := httptest.NewRequest(nethttp.MethodPost, "/draw", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := do(s, r)
		require.True(t, utf8.Valid(w.Body.Bytes()))
		if w.Code != 200 {
			require.Contains(t, []int{400, 413}, w.Code)
			require.Equal(t, "none", problemIn(t, w.Result()).Outcome)
			require.Nil(t, service.last())
			return
		}
		asked := service.last().(draw.Request)
		require.NoError(t, asked.Check())
		// An accepted body means the same to a usual reader of JSON.
		var plain struct {
			Pool, User string
			Count      *int
		}
		require.NoError(t, json.Unmarshal(body, &plain))
		require.Equal(t, plain.Pool, asked.PoolID)
		require.Equal(t, plain.User, asked.UserID)
		if plain.Count != nil {
			require.Equal(t, *plain.Count, asked.Count)
		}
		var answer struct{ Draw, Pool, User string }
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		require.Equal(t, asked.UserID, answer.User)
	})
}

func FuzzAdminBodies(f *testing.F) {
	for _, seed := range []string{
		`{"id":"p","name":"P","mode":null,"prizes":[{"id":"a","name":"A","value":"19.90","stock":5}]}`,
		`{"id":"p","name":"P","prizes":[{"id":"a","name":"A","value":"1e9","stock":-5}]}`,
		`{"state":"open"}`, `{"mode":null}`, `{"mode":"x"}`, `{"name":""}`, `{"delta":9223372036854775807,"reason":"r"}`,
		`{"delta":-1,"reason":"r"}`, `{"id":"a","name":"A","stock":null}`,
		`{"id":"a","name":"A","value":"0000000000000000000000000000000000000001","stock":1}`,
	} {
		f.Add([]byte(seed))
	}
	service := &fake{}
	s := newServer(f, service)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, call := range [][2]string{
			{"POST", "/admin/pools"}, {"PATCH", "/admin/pools/p"}, {"POST", "/admin/pools/p/prizes"},
			{"POST", "/admin/pools/p/prizes/a/stock"}, {"PATCH", "/admin/pools/p/prizes/a"},
		} {
			service.asked = nil
			w := do(s, asAdmin(call[0], call[1], string(body), "Content-Type", "application/json"))
			if w.Code >= 300 {
				require.Contains(t, []int{400, 413}, w.Code)
				problemIn(t, w.Result())
				require.Nil(t, service.last())
				continue
			}
			require.True(t, json.Valid(w.Body.Bytes()))
			requireGood(t, service.last())
		}
	})
}

// requireGood checks that the values that reached the store may be stored.
func requireGood(t *testing.T, asked any) {
	t.Helper()
	a, _ := asked.(acted)
	switch v := a.what.(type) {
	case draw.Pool:
		require.NoError(t, v.Check())
	case draw.PoolChange:
		require.NoError(t, v.Check())
	case draw.Prize:
		require.NoError(t, v.Check())
	case draw.PrizeChange:
		require.NoError(t, v.Check())
	case draw.Stocking:
		require.NoError(t, v.Check())
	default:
		require.Fail(t, "nothing reached the store")
	}
}
