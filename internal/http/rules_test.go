package http

import (
	"context"
	"encoding/json"
	"math/big"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
)

// someRules returns rules whose odds players may read.
func someRules(t testing.TB) *draw.Rules {
	t.Helper()
	r, err := rules.Parse([]byte(`{"limits":[{"max":3,"of":"draws","per":"168h"}],"disclose":true}`))
	require.NoError(t, err)
	return r
}

func (f fakeStore) Rules(_ context.Context, poolID string, version int64) (draw.Ruling, error) {
	r := draw.Ruling{PoolID: poolID, Version: 9, Actor: "ann", At: at, Rules: f.rules}
	return r, f.note([2]any{poolID, version})
}

// setRules is the request to set rules that the store got.
type setRules struct {
	pool, document, actor string
	versions              []int64
}

func (f fakeStore) SetRules(_ context.Context, poolID string, rules *draw.Rules, versions []int64, actor string) (draw.Ruling, error) {
	asked := setRules{pool: poolID, actor: actor, versions: versions}
	if rules != nil {
		asked.document = rules.Document()
	}
	return draw.Ruling{PoolID: poolID, Version: 9, Actor: actor, At: at, Rules: rules}, f.note(asked)
}

func (fakeStore) HadMoments(context.Context, string) (bool, error) { return false, nil }

func (f fakeStore) Odds(_ context.Context, poolID, userID string) (odds.Statement, error) {
	return odds.Statement{
		Version: 7, Law: odds.LawStock, IsDisclosed: f.rules.Disclose, HasMoments: true, Win: big.NewRat(2, 100), None: big.NewRat(49, 50),
		Odds:      []odds.Chance{{PrizeID: "gold", Chance: big.NewRat(2, 100)}, {PrizeID: "pin", Chance: new(big.Rat)}},
		Guarantee: &odds.GuaranteeOdds{Guarantee: draw.Guarantee{After: 9, PrizeID: "gold"}},
	}, f.note([2]string{poolID, userID})
}

func (f fakeStore) Standing(_ context.Context, poolID, userID string) (urn.Standing, error) {
	s := urn.Standing{Misses: 2, GuaranteedIn: 8, Limits: []urn.LimitStanding{
		{Limit: f.rules.Limits[0], Used: 2, Left: 1, ResetsAt: at},
		{Limit: draw.Limit{Of: draw.LimitPrize, PrizeID: "gold", Max: 1}, Left: 1},
	}}
	return s, f.note([2]string{poolID, userID})
}

func (f fakeStore) UserAwards(_ context.Context, poolID, userID string, after int64, limit int) ([]draw.Award, error) {
	return []draw.Award{award("d1", userID)}, f.note([4]any{poolID, userID, after, limit})
}

// rulesJSON is the document of someRules in its canonical form.
const rulesJSON = `{"limits":[{"of":"draws","max":3,"per":"168h"}],"disclose":true}`

// uniformWords are the words for a law without numbers, and rulesWords those for
// someRules.
const (
	uniformWords = `"Each draw takes one unit, at random: every unit that remains is equally likely."`
	rulesWords   = `[` + uniformWords + `,"Each user draws at most 3 times within any 7 days.","Players may read the odds."]`
)

// TestRulesAnswers pins the JSON of every call about rules, and the requests that reach
// the store.
func TestRulesAnswers(t *testing.T) {
	rules := someRules(t)
	ruling := `{"pool":"p","version":9,"sha256":"` + rules.SHA256() + `","actor":"WHO","at":"2026-03-04T04:06:07.000890Z","rules":` + rulesJSON + `,"words":` + rulesWords + `}`
	const odds = `{"version":7,"law":"stock","win":"1/50","odds":[{"prize":"gold","chance":"1/50"},{"prize":"pin","chance":"0/1"}],` +
		`"none":"49/50","guarantee":{"after":9,"prize":"gold","rate":null},"moments":true}`
	for _, tc := range []struct {
		method, target, body, answer string
		asked                        any
	}{
		{"GET", "/admin/pools/p/rules", "", strings.Replace(ruling, "WHO", "ann", 1), [2]any{"p", int64(0)}},
		{"GET", "/admin/pools/p/rules?version=9", "", strings.Replace(ruling, "WHO", "ann", 1), [2]any{"p", int64(9)}},
		{
			"POST", "/admin/pools/p/rules", " " + rulesJSON,
			`{"pool":"p","sha256":"` + rules.SHA256() + `","rules":` + rulesJSON + `,"words":` + rulesWords + `}`, "p",
		},
		{"PUT", "/admin/pools/p/rules", " " + rulesJSON, strings.Replace(ruling, "WHO", "admin", 1), setRules{pool: "p", document: rulesJSON, actor: "admin"}},
		{
			"DELETE", "/admin/pools/p/rules", "",
			`{"pool":"p","version":9,"sha256":null,"actor":"admin","at":"2026-03-04T04:06:07.000890Z","rules":null,"words":[` + uniformWords + `]}`, setRules{pool: "p", actor: "admin"},
		},
		{"GET", "/pools/p/odds", "", odds, [2]string{"p", ""}},
		{"GET", "/admin/pools/p/odds", "", odds, [2]string{"p", ""}},
		{"GET", "/admin/pools/p/odds?user=u%201", "", odds, [2]string{"p", "u 1"}},
		{
			"GET", "/pools/p/users/%C3%BC%2F1", "",
			`{"limits":[{"of":"draws","max":3,"per":"168h","used":2,"left":1,"resets_at":"2026-03-04T04:06:07.000890Z"},` +
				`{"of":"prize","prize":"gold","max":1,"per":null,"used":0,"left":1,"resets_at":null}],"misses":2,"guaranteed_in":8,"blocked":false}`,
			[2]string{"p", "ü/1"},
		},
		{
			"GET", "/pools/p/users/u1/awards?after=5&limit=7", "",
			`{"awards":[{"version":1234,"at":"2026-03-04T04:06:07.000890Z","draw":"d1","ordinal":1,"user":"u1","prize":"gold",` +
				`"name":"Gold coin","value":"19.90","win":true,"unit":17,"kind":"prize"}],"cursor":1234,"next":null}`,
			[4]any{"p", "u1", int64(5), 8},
		},
	} {
		t.Run(tc.method+" "+tc.target, func(t *testing.T) {
			f := &fake{rules: rules}
			w := do(newServer(t, f), asAdmin(tc.method, tc.target, tc.body))
			require.Equal(t, 200, w.Code, w.Body)
			require.Equal(t, tc.answer+"\n", w.Body.String())
			require.Equal(t, tc.asked, f.last())
			if strings.Contains(tc.target, "/rules") && tc.method != "POST" {
				require.Equal(t, `"9"`, w.Header().Get("ETag"))
			}
		})
	}
}

func TestRulesAreOfTheVersionThatIsNamed(t *testing.T) {
	f := &fake{rules: someRules(t)}
	s := newServer(t, f)
	require.Equal(t, 200, do(s, asAdmin("PUT", "/admin/pools/p/rules", rulesJSON, "If-Match", `"9", W/"8"`)).Code)
	require.Equal(t, []int64{9}, f.last().(setRules).versions)
	require.Equal(t, 200, do(s, asAdmin("DELETE", "/admin/pools/p/rules", "", "If-Match", `"7"`)).Code)
	require.Equal(t, []int64{7}, f.last().(setRules).versions)
	require.Equal(t, 200, do(s, asAdmin("PUT", "/admin/pools/p/rules", rulesJSON, "If-Match", "*")).Code)
	require.Equal(t, []int64{draw.AnyRules}, f.last().(setRules).versions, "an asterisk is any rules, and not none")
	require.Equal(t, 200, do(s, asAdmin("DELETE", "/admin/pools/p/rules", "", "If-Match", "*")).Code)
	require.Nil(t, f.last().(setRules).versions, "without rules the answer is 404")
	f.err = draw.Errorf(draw.CodeRulesChanged, "because")
	require.Equal(t, 412, problemIn(t, do(s, asAdmin("PUT", "/admin/pools/p/rules", rulesJSON, "If-Match", `"1"`)).Result()).Status)
}

// TestBadRules: invalid rules never reach the store.
func TestBadRules(t *testing.T) {
	for _, r := range []*nethttp.Request{
		asAdmin("PUT", "/admin/pools/p/rules", `{"limit":[]}`),
		asAdmin("PUT", "/admin/pools/p/rules", `null`),
		asAdmin("PUT", "/admin/pools/p/rules", ` `),
		asAdmin("PUT", "/admin/pools/p/rules", `{"win":"1/2"}`),
		asAdmin("POST", "/admin/pools/p/rules", `{"win":"1/2"}`),
		asAdmin("POST", "/admin/pools", `{"id":"p","name":"P","rules":{"fallback":"none"},"prizes":[]}`),
		asAdmin("POST", "/admin/pools", `{"id":"p","name":"P","rules":"x","prizes":[]}`),
		asAdmin("POST", "/admin/pools", `{"id":"p","name":"P","prizes":[{"id":"a","name":"A","kind":"","stock":1}]}`),
		asAdmin("POST", "/admin/pools", `{"id":"p","name":"P","prizes":[{"id":"a","name":"A","kind":"blank","value":"1"}]}`),
		asAdmin("GET", "/admin/pools/p/rules?version=0", ""),
		asAdmin("GET", "/admin/pools/p/odds?user=", ""),
		asAdmin("GET", "/pools/p/users/%20u", ""),
		asAdmin("GET", "/pools/p/users/%00", ""),
	} {
		f := &fake{}
		require.Equal(t, "invalid-request", problemIn(t, do(newServer(t, f), r).Result()).Code, "%s", r.URL)
		require.Nil(t, f.last(), "%s", r.URL)
	}
	f := &fake{}
	s := newServer(t, f)
	require.Equal(t, 413, do(s, asAdmin("PUT", "/admin/pools/p/rules", strings.Repeat(" ", draw.RulesMax+1))).Code)
	require.Equal(t, 415, do(s, asAdmin("PUT", "/admin/pools/p/rules", "{}", "Content-Type", "text/plain")).Code)
	require.Nil(t, f.last())
}

// TestNewPoolWithRules: kinds and rules reach the store, and a blank without stock is
// endless, which is shown as null.
func TestNewPoolWithRules(t *testing.T) {
	f := &fake{}
	w := do(newServer(t, f), asAdmin("POST", "/admin/pools", `{"id":"p","name":"P","rules":{"fallback":"none"},`+
		`"prizes":[{"id":"none","name":"N","kind":"blank"},{"id":"lost","name":"L","kind":"blank","stock":5}]}`))
	require.Equal(t, 201, w.Code, w.Body)
	made := f.last().(acted).what.(draw.Pool)
	require.Equal(t, `{"fallback":"none"}`, made.Rules.Document())
	require.True(t, made.Prizes[0].IsEndless())
	require.False(t, made.Prizes[1].IsEndless() || made.Prizes[1].IsWin())
	require.Contains(t, w.Body.String(), `{"id":"none","name":"N","value":"0.00","kind":"blank","stocked":null,"issued":0,"remaining":null,"given":"0.00"}`)
	require.Contains(t, w.Body.String(), `{"id":"lost","name":"L","value":"0.00","kind":"blank","stocked":5,"issued":0,"remaining":5,"given":"0.00"}`)
}

// TestOddsAreDisclosed: only admins read odds that the rules do not publish.
func TestOddsAreDisclosed(t *testing.T) {
	secret, err := rules.Parse([]byte(`{}`))
	require.NoError(t, err)
	s := newServer(t, &fake{rules: secret})
	require.Equal(t, "not-found", problemIn(t, do(s, request("GET", "/pools/p/odds", "")).Result()).Code)
	require.Equal(t, 200, do(s, asAdmin("GET", "/admin/pools/p/odds", "")).Code)
}

// TestLimitReached: the problem and the odds of a user state which limit it is, and
// when the draw will be allowed.
func TestLimitReached(t *testing.T) {
	rules := someRules(t)
	for name, tc := range map[string]struct {
		retryAt time.Time
		want    string
	}{
		"a window": {at, `"2026-03-04T04:06:07.000890Z"`}, "ever": {time.Time{}, "null"},
	} {
		t.Run(name, func(t *testing.T) {
			refusal := draw.Errorf(draw.CodeLimitReached, "enough")
			refusal.Reached = &draw.Reached{Limit: rules.Limits[0], RetryAt: tc.retryAt}
			s := newServer(t, &fake{err: refusal, rules: rules})
			w := do(s, request("POST", "/draw", `{"pool":"p","user":"u"}`))
			require.Equal(t, 409, w.Code)
			require.JSONEq(t, `{"type":"/problems/limit-reached","title":"Limit reached","status":409,"detail":"enough","code":"limit-reached",`+
				`"outcome":"none","limit":{"of":"draws","max":3,"per":"168h"},"retry_at":`+tc.want+`}`, w.Body.String())
			w = do(s, asAdmin("GET", "/admin/pools/p/odds?user=u", ""))
			require.Equal(t, 200, w.Code)
			require.JSONEq(t, `{"refused":"limit-reached","detail":"enough","limit":{"of":"draws","max":3,"per":"168h"},"retry_at":`+tc.want+`}`, w.Body.String())
		})
	}
	s := newServer(t, &fake{err: draw.Errorf(draw.CodeUserBlocked, "no")})
	w := do(s, asAdmin("GET", "/admin/pools/p/odds?user=u", ""))
	require.JSONEq(t, `{"refused":"user-blocked","detail":"no","limit":null,"retry_at":null}`, w.Body.String())
	s = newServer(t, &fake{err: draw.Errorf(draw.CodeStoreUnavailable, "no")})
	require.Equal(t, 503, do(s, asAdmin("GET", "/admin/pools/p/odds?user=u", "")).Code, "is no refusal of a gate")
}

// TestLogShowsRedirects: the log shows redirects on the awards that have one.
func TestLogShowsRedirects(t *testing.T) {
	for want, redirect := range map[string]*draw.Redirect{
		`{"drawn":"gold","why":"limit"}`:   {Drawn: "gold", Why: draw.WhyLimit},
		`{"drawn":null,"why":"guarantee"}`: {Why: draw.WhyGuarantee},
	} {
		a := award("d", "u")
		a.Blank, a.Redirect = true, redirect
		line, err := json.Marshal(newEntry(&draw.Entry{Award: &a}))
		require.NoError(t, err)
		require.Contains(t, string(line), `"redirect":`+want)
		require.Contains(t, string(line), `"win":false`)
	}
}
