package http

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

const (
	springJSON = `{"id":"spring","name":"Spring","state":"open","mode":null,"version":7,"revision":5,"rules":0,"committed":0,"archived":false,"prizes":[` +
		`{"id":"gold","name":"Gold coin","value":"19.90","kind":"prize","stocked":10,"issued":3,"remaining":7,"given":"59.70"},` +
		`{"id":"pin","name":"Pin","value":"0.00","kind":"prize","stocked":5,"issued":0,"remaining":5,"given":"0.00"}]}`
	otherJSON = `{"id":"other","name":"Spring","state":"paused","mode":"optimistic","version":7,"revision":5,"rules":0,"committed":0,"archived":false,"opening":{"round":1000,"at":"2026-03-04T04:06:07.000890Z"},"prizes":[]}`
)

// logJSON returns the entries of someLog.
func logJSON() []string {
	const at = `"at":"2026-03-04T04:06:07.000890Z"`
	return []string{
		`{"kind":"change","version":1,` + at + `,"what":"created","body":{"name":"Spring","state":"open","mode":null},"actor":"admin"}`,
		`{"kind":"move","version":2,` + at + `,"prize":"gold","delta":10,"reason":"created","actor":"admin","stocked":10,"issued":0}`,
		`{"kind":"award","version":3,` + at + `,"draw":"d1","ordinal":1,"user":"u1","prize":"gold","name":"Gold coin","value":"19.90","win":true,"unit":17}`,
	}
}

// TestAdminAnswers pins the JSON of every admin call.
func TestAdminAnswers(t *testing.T) {
	cases := []struct {
		method, target, body string
		status               int
		location, answer     string
	}{
		{"GET", "/admin/pools", "", 200, "", `{"pools":[` + springJSON + `,` + otherJSON + `],"next":null}`},
		{"GET", "/admin/pools?after=a&limit=1", "", 200, "", `{"pools":[` + springJSON + `],"next":"spring"}`},
		{"GET", "/admin/pools/spring", "", 200, "", springJSON},
		{"PATCH", "/admin/pools/spring", `{"state":"open"}`, 200, "", springJSON},
		{
			"POST", "/admin/pools", `{"id":"new","name":"New","mode":"external","prizes":[{"id":"a","name":"A","value":"0.5","stock":3},{"id":"b","name":"B","stock":0}]}`,
			201, "/admin/pools/new",
			`{"id":"new","name":"New","state":"open","mode":"external","version":0,"revision":0,"rules":0,"committed":0,"archived":false,"prizes":[` +
				`{"id":"a","name":"A","value":"0.50","kind":"prize","stocked":3,"issued":0,"remaining":3,"given":"0.00"},` +
				`{"id":"b","name":"B","value":"0.00","kind":"prize","stocked":0,"issued":0,"remaining":0,"given":"0.00"}]}`,
		},
		{
			"POST", "/admin/pools/spring/prizes", `{"id":"a","name":"A","value":"7","stock":3}`,
			201, "/admin/pools/spring", `{"id":"a","name":"A","value":"7.00","kind":"prize","stocked":3,"issued":0,"remaining":3,"given":"0.00"}`,
		},
		{
			"POST", "/admin/pools/spring/prizes/gold/stock", `{"delta":100,"reason":"restock"}`, 200, "",
			`{"pool":"spring","prize":"gold","delta":100,"reason":"restock","actor":"admin","version":8,"at":"2026-03-04T04:06:07.000890Z",` +
				`"stocked":110,"issued":3,"remaining":107,"replayed":false}`,
		},
		{
			"GET", "/admin/pools/spring/awards", "", 200, "",
			`{"awards":[{"version":1234,"at":"2026-03-04T04:06:07.000890Z","draw":"d","ordinal":1,"user":"u1","prize":"gold",` +
				`"name":"Gold coin","value":"19.90","win":true,"unit":17,"kind":"prize"}],"cursor":1234,"next":null}`,
		},
		{
			"GET", "/admin/pools/spring/moves", "", 200, "",
			`{"moves":[{"version":1,"at":"2026-03-04T04:06:07.000890Z","prize":"gold","delta":10,"reason":"start","actor":"admin","stocked":10,"issued":0}],"cursor":1,"next":null}`,
		},
		{
			"PATCH", "/admin/pools/spring/prizes/gold", `{"name":"New"}`, 200, "",
			`{"id":"gold","name":"New","value":"0.00","kind":"prize","stocked":0,"issued":0,"remaining":0,"given":"0.00"}`,
		},
		{"GET", "/admin/pools/spring/log", "", 200, "", `{"entries":[` + strings.Join(logJSON(), ",") + `],"cursor":3,"next":null}`},
		{"GET", "/admin/pools/spring/log?after=1&limit=1", "", 200, "", `{"entries":[` + logJSON()[1] + `],"cursor":2,"next":2}`},
		{
			"GET", "/admin/pools/spring/audit", "", 200, "",
			`{"ok":true,"pool":"spring","version":7,"prizes":[{"prize":"gold","stocked":10,"issued":3,"awards":3,"remaining":7,"over_issued":0}],"violations":[]}`,
		},
	}
	for _, tc := range cases {
		t.Run(tc.method+" "+tc.target, func(t *testing.T) {
			s := newServer(t, &fake{awards: []draw.Award{award("d", "u1")}})
			w := do(s, asAdmin(tc.method, tc.target, tc.body))
			require.Equal(t, tc.status, w.Code, w.Body)
			require.Equal(t, tc.answer+"\n", w.Body.String())
			require.Equal(t, "application/json", w.Header().Get("Content-Type"))
			require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
			require.Equal(t, tc.location, w.Header().Get("Location"))
		})
	}
}

func TestViolationsAreShown(t *testing.T) {
	got := api.ShowAudit(&draw.Audit{PoolID: "p", Violations: []draw.Violation{{Rule: "over-issued", Detail: "gold by 1"}}})
	require.False(t, got.OK)
	require.Equal(t, []api.Violation{{Rule: "over-issued", Detail: "gold by 1"}}, got.Violations)
}

func TestStockingReachesTheStore(t *testing.T) {
	f := &fake{}
	w := do(newServer(t, f), asAdmin("POST", "/admin/pools/spring/prizes/gold/stock", `{"delta":-5,"reason":"lost"}`, "Idempotency-Key", `"again"`))
	require.Equal(t, 200, w.Code)
	require.Equal(t, acted{draw.Stocking{PoolID: "spring", PrizeID: "gold", Delta: -5, Reason: "lost", Key: "again"}, "admin"}, f.last())
	require.Equal(t, "true", w.Header().Get("Idempotent-Replayed"))
	require.Contains(t, w.Body.String(), `"replayed":true`)
}

func TestNewPoolReachesTheStore(t *testing.T) {
	f := &fake{}
	w := do(newServer(t, f), asAdmin("POST", "/admin/pools", `{"id":"new","name":"New","mode":null,"prizes":[{"id":"a","name":"Ä","value":"999999999999.99","stock":1000000000000}]}`))
	require.Equal(t, 201, w.Code, w.Body)
	require.Equal(t, "admin", f.last().(acted).actor)
	got := f.last().(acted).what.(draw.Pool)
	require.True(t, decimal.RequireFromString("999999999999.99").Equal(got.Prizes[0].Value))
	require.Equal(t, int64(draw.StockMax), got.Prizes[0].Stocked)
	require.Empty(t, got.Mode)
	require.Equal(t, draw.StateOpen, got.State)
}

func TestChangesReachTheStore(t *testing.T) {
	name, none, mode, paused, yes := "Sommer \"24\"", "", "external", draw.StatePaused, true
	for body, want := range map[string]draw.PoolChange{
		`{"state":"paused"}`:             {State: &paused},
		`{"mode":null}`:                  {Mode: &none},
		`{"mode":"external"}`:            {Mode: &mode},
		`{"name":"S\u006fmmer \"24\""}`:  {Name: &name},
		`{"mode":null,"state":"paused"}`: {Mode: &none, State: &paused},
		`{"archived":true}`:              {Archived: &yes},
		`{"text":null,"fair":true}`:      {Text: &none, Fair: &yes},
		`{"text":"S\u006fmmer \"24\""}`:  {Text: &name},
	} {
		f := &fake{}
		w := do(newServer(t, f), asAdmin("PATCH", "/admin/pools/p", body))
		require.Equal(t, 200, w.Code, w.Body)
		require.Equal(t, acted{want, "admin"}, f.last(), body)
	}
}

func TestBadAdminBodiesNameTheMember(t *testing.T) {
	pool := func(prizes string) string { return `{"id":"p","name":"P","prizes":` + prizes + `}` }
	cases := []struct{ target, body, detail string }{
		{"pools", `{"name":"P","prizes":[]}`, "pool id is missing"},
		{"pools", `{"id":"P","name":"P","prizes":[]}`, "pool id must match"},
		{"pools", `{"id":"p","prizes":[]}`, "pool name is missing"},
		{"pools", `{"id":"p","name":null,"prizes":[]}`, "pool name is missing"},
		{"pools", `{"id":"p","name":"P"}`, "prizes is missing"},
		{"pools", `{"id":"p","name":"P","prizes":null}`, "prizes is missing"},
		{"pools", `{"id":"p","name":"P","prizes":{}}`, `"prizes" must be a list`},
		{"pools", `{"id":"p","name":"P","prizes":[7]}`, `"prizes[0]" must be an object`},
		{"pools", `{"id":"p","name":"P","prizes":[null]}`, "prize id is missing"},
		{"pools", `{"id":"p","name":"P","state":"closed","prizes":[]}`, "state of a new pool must be open or paused"},
		{"pools", `{"id":"p","name":"P","revision":1,"prizes":[]}`, `unknown member "revision"`},
		{"pools", `{"id":"p","name":"P","mode":"fast","prizes":[]}`, "mode must be one of for-update, optimistic, external"},
		{"pools", `{"id":"p","name":"P","mode":"","prizes":[]}`, "mode must be one of"},
		{"pools", `{"id":"p","name":"P","mode":7,"prizes":[]}`, `"mode" must be a string`},
		{"pools", pool(`[{"id":"a","name":"A","stock":1},{"id":"a","name":"B","stock":1}]`), `prize id "a" is there twice`},
		{"pools", pool(`[{"id":"a","name":"A","stock":1},{"id":"b","name":"B","stock":1.5}]`), `"prizes[1].stock" must be a whole number`},
		{"pools", pool(`[{"id":"a","name":"A","stock":1,"issued":0}]`), `unknown member "prizes[0].issued"`},
		{"pools", pool(`[{"id":"a","name":"A","stock":1,"stock":2}]`), `member "prizes[0].stock" is there twice`},
		{"pools/p/prizes", `{"id":"a","name":"A","stock":-1}`, `stock of prize "a" must be 0 to`},
		{"pools/p/prizes", `{"id":"a","name":"A","stock":1000000000001}`, `stock of prize "a" must be 0 to`},
		{"pools/p/prizes", `{"id":"a","name":"A","kind":"blank","stock":1000000000000}`, `blank "a" would be endless; its stock must stay below`},
		{"pools", pool(`[{"id":"a","name":"A","kind":"blank","stock":1000000000000}]`), `blank "a" would be endless`},
		{"pools/p/prizes", `{"id":"a","name":"A","stock":9223372036854775808}`, `"stock" must be a whole number`},
		{"pools/p/prizes", `{"id":"a","stock":1}`, "prize name is missing"},
		{"pools/p/prizes", `{"name":"A","stock":1}`, "prize id is missing"},
		{"pools/p/prizes", `{"id":"a","name":"A","value":19.90,"stock":1}`, `"value" must be a string`},
		{"pools/p/prizes", `{"id":"a","name":"A","value":"","stock":1}`, `value of prize "a" is empty`},
		{"pools/p/prizes", `{"id":"a","name":"A","value":"1.234","stock":1}`, "value must be an amount"},
		{"pools/p/prizes", `{"id":"a","name":"A","value":"1e3","stock":1}`, "value must be an amount"},
		{"pools/p/prizes", `{"id":"a","name":"A","value":"-1","stock":1}`, "value must be an amount"},
		{"pools/p/prizes", `{"id":"a","name":"A","value":"` + strings.Repeat("9", 40) + `","stock":1}`, "value must be an amount"},
		{"pools/p/prizes/a/stock", `{"reason":"r"}`, "delta must be"},
		{"pools/p/prizes/a/stock", `{"delta":0,"reason":"r"}`, "delta must be"},
		{"pools/p/prizes/a/stock", `{"delta":null,"reason":"r"}`, "delta must be"},
		{"pools/p/prizes/a/stock", `{"delta":"1","reason":"r"}`, `"delta" must be a whole number`},
		{"pools/p/prizes/a/stock", `{"delta":-9223372036854775808,"reason":"r"}`, "delta must be"},
		{"pools/p/prizes/a/stock", `{"delta":1}`, "reason is missing or empty"},
		{"pools/p/prizes/a/stock", `{"delta":1,"reason":null}`, "reason is missing or empty"},
		{"pools/p/prizes/a/stock", `{"delta":1,"reason":"a\u0000"}`, "reason holds a character"},
		{"pools/p/prizes/A/stock", `{"delta":1,"reason":"r"}`, "prize in the path must match"},
		{"pools/P/prizes/a/stock", `{"delta":1,"reason":"r"}`, "pool in the path must match"},
		{"pools/P/prizes", `{"id":"a","name":"A","stock":1}`, "pool in the path must match"},
	}
	for _, tc := range cases {
		requireRefused(t, "POST", tc.target, tc.body, tc.detail)
	}
	for body, detail := range map[string]string{
		`{}`:                             "nothing to change",
		`{"state":"shut"}`:               "state must be open, paused or closed",
		`{"state":null}`:                 `"state" must be a string`,
		`{"state":null,"mode":null}`:     `"state" must be a string`,
		`{"state":1}`:                    `"state" must be a string`,
		`{"name":null}`:                  `"name" must be a string`,
		`{"name":""}`:                    "name is missing or empty",
		`{"name":["x"]}`:                 `"name" must be a string`,
		`{"mode":"fast"}`:                "mode must be one of",
		`{"mode":""}`:                    "mode must be one of",
		`{"mode":{}}`:                    `"mode" must be a string`,
		`{"id":"q"}`:                     `unknown member "id"`,
		`{"mode":null,"mode":"x"}`:       `member "mode" is there twice`,
		`{"state":"open","name":"\ud8"}`: "the body is not valid JSON",
		`{"text":"a\u0085"}`:             "text holds a character",
	} {
		requireRefused(t, "PATCH", "pools/p", body, detail)
	}
	for body, detail := range map[string]string{
		`{}`:             "nothing to change: give name, value or display",
		`{"display":{}}`: "nothing to change: display has",
		`{"display":{"picture":"http://shop.example/p"}}`: "display.picture must be an address that begins with https://",
		`{"display":{"link":"javascript:alert(1)"}}`:      "display.link must be",
		`{"display":{"text":"a\u0007"}}`:                  "display.text holds a character",
		`{"display":{"name":1}}`:                          `"display.name" must be a string`,
		`{"display":{"colour":"red"}}`:                    `unknown member "display.colour"`,
		`{"name":""}`:                                     "prize name is missing or empty",
		`{"value":""}`:                                    "value is empty",
		`{"value":"-1"}`:                                  "value must be an amount",
		`{"stock":1}`:                                     `unknown member "stock"`,
		`{"value":1.5}`:                                   `"value" must be a string`,
		`{"name":"\u0000"}`:                               "prize name holds a character",
	} {
		requireRefused(t, "PATCH", "pools/p/prizes/a", body, detail)
	}
	requireRefused(t, "PATCH", "pools/P", `{"state":"open"}`, "pool in the path must match")
}

func requireRefused(t *testing.T, method, target, body, detail string) {
	t.Helper()
	f := &fake{}
	p := problemIn(t, do(newServer(t, f), asAdmin(method, "/admin/"+target, body)).Result())
	require.Equal(t, "invalid-request", p.Code, body)
	require.True(t, strings.HasPrefix(p.Detail, detail), "%s: %s", body, p.Detail)
	require.Empty(t, p.Outcome)
	require.Nil(t, f.last(), body)
}
