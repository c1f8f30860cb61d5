package contract_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/http/contract"
)

const drawn = `{"draw":"k","pool":"p","user":"u","replayed":false,"awards":[` +
	`{"prize":"gold","name":"Gold","value":"1.50","win":true,"unit":1,"version":2,"at":"2026-11-11T11:11:11Z"}]}`

// answer is a server's answer to a draw.
type answer struct {
	status int
	kind   string
	body   string
	header string // a further header, "" for none
}

func (a answer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", a.kind)
	if a.header != "" {
		w.Header().Set(a.header, "1")
	}
	w.WriteHeader(a.status)
	_, _ = fmt.Fprint(w, a.body)
}

func problem(status int, code string) answer {
	header := map[int]string{503: "Retry-After"}[status]
	return answer{status: status, kind: "application/problem+json", header: header,
		body: fmt.Sprintf(`{"type":"/problems/%s","title":"T","status":%d,"detail":"D","code":%q,"outcome":"none"}`, code, status, code)}
}

// TestKindsCondemn: an undescribed answer is found when it first occurs, however many
// described answers came before. The same holds for a request that was wrongly
// accepted.
func TestKindsCondemn(t *testing.T) {
	t.Parallel()
	c, err := contract.Own()
	require.NoError(t, err)
	with := func(member string) string { return strings.Replace(drawn, `"unit":1`, member, 1) }
	right := answer{200, "application/json", drawn, ""}
	for name, d := range map[string]struct {
		answer answer
		path   string
		body   string
		want   string // "" for an exchange that is correct
	}{
		"as described":                 {answer: right},
		"a refusal as described":       {answer: problem(503, "contended")},
		"a member that is not":         {answer: answer{200, "application/json", with(`"unit":1,"lucky":true`), ""}, want: "lucky"},
		"a member that is missing":     {answer: answer{200, "application/json", with(`"units":1`), ""}, want: "unit"},
		"a member of another type":     {answer: answer{200, "application/json", with(`"unit":"1"`), ""}, want: "unit"},
		"a status that is not":         {answer: answer{202, "application/json", drawn, ""}, want: "status 202 is not described"},
		"a header that is not":         {answer: answer{200, "application/json", drawn, "X-Lucky"}, want: "X-Lucky"},
		"a code that is not":           {answer: problem(503, "unlucky"), want: "unlucky"},
		"a code of another status":     {answer: problem(503, "sold-out"), want: "sold-out"},
		"another type":                 {answer: answer{200, "text/plain", drawn, ""}, want: "text/plain"},
		"a path that is not":           {answer: right, path: "/drawn", want: "POST /drawn is not described"},
		"a query that is not":          {answer: right, path: "/draw?lucky=1", want: "query parameter lucky"},
		"a member that is sent":        {answer: right, body: `{"pool":"p","user":"u","lucky":true}`, want: "lucky"},
		"a request that was not taken": {answer: problem(400, "invalid-request"), body: `{"lucky":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kinds := contract.NewKinds(c)
			var wrong []string
			ask := func(a answer, path, body string) {
				j := contract.NewJudge(a, kinds.Check, func(err error) { wrong = append(wrong, err.Error()) })
				r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				j.ServeHTTP(httptest.NewRecorder(), r)
			}
			path, body := "/draw", `{"pool":"p","user":"u","count":1}`
			for range 6 {
				ask(right, path, body)
			}
			require.Empty(t, wrong)
			if d.path != "" {
				path = d.path
			}
			if d.body != "" {
				body = d.body
			}
			ask(d.answer, path, body)
			exchanges, found := kinds.Counts()
			require.Equal(t, 7, exchanges)
			if d.want == "" {
				require.Empty(t, wrong)
				return
			}
			require.Equal(t, 2, found)
			require.Contains(t, strings.Join(wrong, "\n"), d.want)
		})
	}
}

// TestKindsAreJudgedAgain: a fault that does not change the members, such as a text
// that is not a time, is found in a later exchange of its kind.
func TestKindsAreJudgedAgain(t *testing.T) {
	t.Parallel()
	c, err := contract.Own()
	require.NoError(t, err)
	kinds := contract.NewKinds(c)
	wrong := 0
	for n := range 1 << 6 {
		a := answer{200, "application/json", drawn, ""}
		if n > 0 {
			a.body = strings.Replace(drawn, "2026-11-11T11:11:11Z", "today", 1)
		}
		r := httptest.NewRequest(http.MethodPost, "/draw", strings.NewReader(`{"pool":"p","user":"u"}`))
		r.Header.Set("Content-Type", "application/json")
		contract.NewJudge(a, kinds.Check, func(error) { wrong++ }).ServeHTTP(httptest.NewRecorder(), r)
	}
	require.Equal(t, 6, wrong, "the 2nd, 4th, 8th, 16th, 32nd and 64th")
}
