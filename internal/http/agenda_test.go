package http

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/access"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// planned is a call of the fake store's agenda.
type planned struct {
	pool  string
	item  draw.Item
	open  bool
	after int64
	limit int
	key   string
	actor string
}

func fakeItems() []draw.Item {
	rules, _ := rules.Parse([]byte(`{"fallback":"none"}`)) // it is valid
	return []draw.Item{
		{Number: 1, At: at, Kind: draw.ItemState, State: draw.StateOpen, Actor: "anna", Done: 1240},
		{Number: 2, At: at, Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: "gold", Delta: -5, Reason: "back"}, Actor: "anna"},
		{Number: 3, At: at, Kind: draw.ItemRules, Rules: rules, Actor: "anna"},
		{Number: 4, At: at, Kind: draw.ItemRules, Actor: "anna", Done: 1242, Failed: draw.CodePoolClosed},
		{Number: 5, At: at, Kind: draw.ItemMoment, Stock: draw.MomentOf("gold"), Actor: "anna", Done: 1241},
		{Number: 6, Kind: draw.ItemMoment, Hidden: &draw.Hidden{PrizeID: "silver", Count: 3, Version: 9, SHA256: strings.Repeat("a", 64), IsMoments: true}},
		{Number: 9, Kind: draw.ItemStock, Hidden: &draw.Hidden{PrizeID: "silver", Count: 24, From: at, To: at.Add(time.Hour), Version: 10, SHA256: strings.Repeat("b", 64)}},
	}
}

func (f fakeStore) Agenda(_ context.Context, poolID string, after int64, limit int, open bool) ([]draw.Item, error) {
	items := fakeItems()
	return items[min(int(after), len(items)):min(int(after)+limit, len(items))], f.note(planned{pool: poolID, after: after, limit: limit, open: open})
}

func (f fakeStore) AgendaPart(_ context.Context, poolID string, page draw.AgendaPage) (items []draw.Item, omitted int64, err error) {
	if page.WithoutStock && page.After == 0 {
		omitted = 77
	}
	items = slices.DeleteFunc(fakeItems(), func(i draw.Item) bool {
		part := draw.AgendaDue
		switch {
		case i.Hidden != nil:
			part = draw.AgendaHidden
		case i.Done > 0:
			part = draw.AgendaDone
		}
		return part != page.Part || page.Kind != "" && i.Kind != page.Kind || page.WithoutStock && i.Kind == draw.ItemStock
	})
	return items, omitted, f.note(partRead{poolID, page})
}

// partRead is a call of the fake store's AgendaPart.
type partRead struct {
	pool string
	page draw.AgendaPage
}

func (f fakeStore) AgendaSums(_ context.Context, poolID string, times []time.Time, withoutStock bool) (draw.AgendaSums, error) {
	var omitted int64
	if withoutStock {
		omitted = 77
	}
	return draw.AgendaSums{First: at, Last: at.Add(time.Hour), Omitted: omitted, Sums: []draw.AgendaSum{
		{Span: 0, PrizeID: "gold", Items: 3, Planned: 5, Done: 2, Failed: 1}, {Span: 2, PrizeID: "pin", Items: 1, Planned: -4},
	}}, f.note([]any{poolID, times, withoutStock})
}

func (f fakeStore) Opening(_ context.Context, poolID string) (opens, closes time.Time, err error) {
	return at, time.Time{}, f.note(planned{pool: poolID})
}

func (f fakeStore) PlanItem(_ context.Context, poolID string, item draw.Item, key, actor string) (draw.Item, error) {
	err := f.note(planned{pool: poolID, item: item, key: key, actor: actor})
	item.Number, item.Actor, item.Replayed = 8, actor, key == "again"
	return item, err
}

func (f fakeStore) PlanMoment(_ context.Context, poolID string, item draw.Item, key, actor string) (draw.Planned, error) {
	return sealed(key), f.note(planned{pool: poolID, item: item, key: key, actor: actor})
}

func (f fakeStore) RemovePlanned(_ context.Context, poolID string, version int64, actor string) (int64, error) {
	return 3, f.note(planned{pool: poolID, after: version, actor: actor})
}

func (f fakeStore) RemoveItem(_ context.Context, poolID string, item int64, actor string) error {
	return f.note(planned{pool: poolID, item: draw.Item{Number: item}, actor: actor})
}

// TestAgendaIsPlanned: each of the three forms is accepted, and everything else gets
// 400 with a clear detail.
func TestAgendaIsPlanned(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	for body, want := range map[string]string{
		`{"at":"2999-01-01T01:00:00+01:00","state":"closed"}`:                        `{"item":8,"at":"2999-01-01T00:00:00.000000Z","state":"closed","actor":"admin","done":null,"replayed":false}`,
		`{"at":"2999-01-01T00:00:00.25Z","prize":"gold","delta":-5,"reason":"back"}`: `{"item":8,"at":"2999-01-01T00:00:00.250000Z","prize":"gold","delta":-5,"reason":"back","actor":"admin","done":null,"replayed":false}`,
		`{"at":"2999-01-01T00:00:00Z","rules":{"fallback":"none"}}`:                  `{"item":8,"at":"2999-01-01T00:00:00.000000Z","rules":{"fallback":"none"},"actor":"admin","done":null,"replayed":false}`,
		`{"at":"2999-01-01T00:00:00Z","rules":null}`:                                 `{"item":8,"at":"2999-01-01T00:00:00.000000Z","rules":null,"actor":"admin","done":null,"replayed":false}`,
	} {
		answer := do(s, asAdmin("POST", "/admin/pools/p/agenda", body))
		require.Equal(t, 201, answer.Code, answer.Body.String())
		require.Equal(t, "/admin/pools/p/agenda?after=7", answer.Header().Get("Location"))
		require.JSONEq(t, want, answer.Body.String())
		require.Equal(t, "admin", f.last().(planned).actor)
	}
	const closing = `{"at":"2999-01-01T00:00:00Z","state":"closed"}`
	again := do(s, asAdmin("POST", "/admin/pools/p/agenda", closing, "Idempotency-Key", `"again"`))
	require.Equal(t, 201, again.Code)
	require.Equal(t, "true", again.Header().Get("Idempotent-Replayed"))
	require.Contains(t, again.Body.String(), `"replayed":true`)
	require.Equal(t, "again", f.last().(planned).key)
	require.Equal(t, "invalid-request", problemIn(t, do(s, asAdmin("POST", "/admin/pools/p/agenda", closing, "Idempotency-Key", "a b")).Result()).Code)
	f.err = draw.Errorf(draw.CodeKeyReused, "because")
	require.Equal(t, 422, do(s, asAdmin("POST", "/admin/pools/p/agenda", closing, "Idempotency-Key", "other")).Code)
	f.err = nil
	for name, body := range map[string]string{
		"no time":          `{"state":"open"}`,
		"a local time":     `{"at":"2999-01-01T00:00:00","state":"open"}`,
		"a day":            `{"at":"2999-01-01","state":"open"}`,
		"a number":         `{"at":4102444800,"state":"open"}`,
		"nothing":          `{"at":"2999-01-01T00:00:00Z"}`,
		"two forms":        `{"at":"2999-01-01T00:00:00Z","state":"open","prize":"gold","delta":1,"reason":"r"}`,
		"state and rules":  `{"at":"2999-01-01T00:00:00Z","state":"open","rules":{}}`,
		"no such state":    `{"at":"2999-01-01T00:00:00Z","state":"ajar"}`,
		"delta 0":          `{"at":"2999-01-01T00:00:00Z","prize":"gold","delta":0,"reason":"r"}`,
		"delta is missing": `{"at":"2999-01-01T00:00:00Z","prize":"gold","reason":"r"}`,
		"no reason":        `{"at":"2999-01-01T00:00:00Z","prize":"gold","delta":1}`,
		"an unknown rule":  `{"at":"2999-01-01T00:00:00Z","rules":{"luck":1}}`,
		"another member":   `{"at":"2999-01-01T00:00:00Z","state":"open","key":"x"}`,
	} {
		answer := do(s, asAdmin("POST", "/admin/pools/p/agenda", body))
		require.Equal(t, 400, answer.Code, name)
		require.Equal(t, "invalid-request", problemIn(t, answer.Result()).Code, name)
	}
}

// TestMomentIsPlanned: the answer to planning a moment has the form of an import of one
// item, so that it does not show the moment. The request takes no member of other
// forms.
func TestMomentIsPlanned(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	const body = `{"at":"2999-01-01T00:00:00Z","moment":"gold"}`
	answer := do(s, asAdmin("POST", "/admin/pools/p/agenda", body, "Idempotency-Key", "again"))
	require.Equal(t, 201, answer.Code, answer.Body.String())
	require.Equal(t, "/admin/pools/p/agenda?after=7", answer.Header().Get("Location"))
	require.Equal(t, "true", answer.Header().Get("Idempotent-Replayed"))
	require.JSONEq(t, `{"item":8,"count":2,"version":9,"sha256":"`+strings.Repeat("a", 64)+`","salt":"salt","replayed":true}`, answer.Body.String())
	wanted := draw.Item{At: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), Kind: draw.ItemMoment, Stock: draw.MomentOf("gold")}
	require.Equal(t, planned{pool: "p", item: wanted, key: "again", actor: "admin"}, f.last())
	for _, more := range []string{`"state":"open"`, `"rules":null`, `"prize":"gold"`, `"delta":1`, `"reason":"r"`} {
		wrong := do(s, asAdmin("POST", "/admin/pools/p/agenda", `{"at":"2999-01-01T00:00:00Z","moment":"gold",`+more+`}`))
		require.Equal(t, 400, wrong.Code, more)
	}
	require.Equal(t, 400, do(s, asAdmin("POST", "/admin/pools/p/agenda", `{"at":"2999-01-01T00:00:00Z","moment":"a b"}`)).Code)

	require.Equal(t, 204, do(s, asAdmin("DELETE", "/admin/pools/p/agenda/imports/9", "")).Code)
	require.Equal(t, planned{pool: "p", after: 9, actor: "admin"}, f.last())
	require.Equal(t, 400, do(s, asAdmin("DELETE", "/admin/pools/p/agenda/imports/0", "")).Code)
	f.err = draw.Errorf(draw.CodeAgendaDone, "no")
	require.Equal(t, 409, do(s, asAdmin("DELETE", "/admin/pools/p/agenda/imports/9", "")).Code)
}

// TestHiddenItemsAreOneLine: in every role, hidden items are a line for each prize and
// list, without an instant. The control is the done moment, which is shown completely.
func TestHiddenItemsAreOneLine(t *testing.T) {
	s := newServer(t, &fake{}, withTokens(tokenOf("root", access.Admin), tokenOf("eve", access.Auditor)))
	for _, token := range []string{"root-admin", "eve-auditor"} {
		w := do(s, request("GET", "/admin/pools/p/agenda?after=4", "", "Authorization", "Bearer "+token))
		require.Equal(t, 200, w.Code, w.Body)
		require.JSONEq(t, `{"items":[
			{"item":5,"at":"`+api.ShowTime(at)+`","moment":"gold","actor":"anna","done":1241},
			{"hidden":{"prize":"silver","count":3,"from":null,"to":null,"sha256":"`+strings.Repeat("a", 64)+`","version":9,"moment":true}},
			{"hidden":{"prize":"silver","count":24,"from":"`+api.ShowTime(at)+`","to":"`+api.ShowTime(at.Add(time.Hour))+`","sha256":"`+strings.Repeat("b", 64)+`","version":10,"moment":false}}
		],"cursor":9,"next":null}`, w.Body.String(), token)
	}
}

// TestAgendaIsShown: the agenda is shown in pages, and items can be removed.
func TestAgendaIsShown(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	answer := do(s, asAdmin("GET", "/admin/pools/p/agenda?after=1&limit=2&open=true", ""))
	require.Equal(t, 200, answer.Code)
	require.JSONEq(t, `{"items":[
		{"item":2,"at":"`+api.ShowTime(at)+`","prize":"gold","delta":-5,"reason":"back","actor":"anna","done":null},
		{"item":3,"at":"`+api.ShowTime(at)+`","rules":{"fallback":"none"},"actor":"anna","done":null}
	],"cursor":3,"next":3}`, answer.Body.String())
	require.Equal(t, planned{pool: "p", after: 1, limit: 3, open: true}, f.last())
	answer = do(s, asAdmin("GET", "/admin/pools/p/agenda", ""))
	require.Contains(t, answer.Body.String(), `"done":1240`)
	require.Contains(t, answer.Body.String(), `"done":1242,"failed":"pool-closed"`)
	require.Equal(t, 1, strings.Count(answer.Body.String(), `"failed"`), "the others were carried out")
	require.Contains(t, answer.Body.String(), `"next":null`)
	require.Equal(t, 400, do(s, asAdmin("GET", "/admin/pools/p/agenda?open=yes", "")).Code)

	require.Equal(t, 204, do(s, asAdmin("DELETE", "/admin/pools/p/agenda/3", "")).Code)
	require.Equal(t, planned{pool: "p", item: draw.Item{Number: 3}, actor: "admin"}, f.last())
	for _, wrong := range []string{"0", "-1", "x", "%2B1"} {
		require.Equal(t, 400, do(s, asAdmin("DELETE", "/admin/pools/p/agenda/"+wrong, "")).Code, wrong)
	}
	for code, status := range map[draw.Code]int{draw.CodeAgendaDone: 409, draw.CodeNotFound: 404, draw.CodePoolNotFound: 404} {
		f.err = draw.Errorf(code, "no")
		require.Equal(t, status, do(s, asAdmin("DELETE", "/admin/pools/p/agenda/3", "")).Code)
	}
}

// TestAgendaIsReadByPart: each part of an agenda is read in its own order, and the filter
// reaches the store. Contradictory parameters are refused before the store is called.
func TestAgendaIsReadByPart(t *testing.T) {
	for query, want := range map[string]struct {
		page  draw.AgendaPage
		items []int64
	}{
		"part=due&after=1&limit=3": {draw.AgendaPage{Part: draw.AgendaDue, After: 1, Limit: 4}, []int64{2, 3}},
		"part=due&kind=rules":      {draw.AgendaPage{Part: draw.AgendaDue, Kind: draw.ItemRules, Limit: 101}, []int64{3}},
		"part=done&prize=gold&from=2999-01-01T00:00:00Z&to=2999-01-02T00:00:00Z": {
			draw.AgendaPage{Part: draw.AgendaDone, PrizeID: "gold", From: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2999, 1, 2, 0, 0, 0, 0, time.UTC), Limit: 101}, []int64{1, 4, 5},
		},
		"part=done":             {draw.AgendaPage{Part: draw.AgendaDone, Limit: 101}, []int64{1, 4, 5}},
		"part=done&kind=moment": {draw.AgendaPage{Part: draw.AgendaDone, Kind: draw.ItemMoment, Limit: 101}, []int64{5}},
		"part=hidden":           {draw.AgendaPage{Part: draw.AgendaHidden, Limit: 101}, nil},
	} {
		f := &fake{}
		answer := do(newServer(t, f), asAdmin("GET", "/admin/pools/p/agenda?"+query, ""))
		require.Equal(t, 200, answer.Code, "%s: %s", query, answer.Body)
		require.Equal(t, partRead{"p", want.page}, f.last(), query)
		var page api.Agenda
		require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &page))
		var items []int64
		for _, line := range page.Items {
			require.Equal(t, want.page.Part == draw.AgendaHidden, line.Hidden != nil, query)
			if line.Item != nil {
				items = append(items, line.Item.Item)
			}
		}
		require.Equal(t, want.items, items, query)
		require.NotEmpty(t, page.Items, query)
	}
	for _, query := range []string{"from=2999-01-01T00:00:00Z", "part=hidden&prize=gold", "part=due&prize=A", "part=done&to=x", "part=", "part=all", "part=due&open=true", "kind=state", "part=hidden&kind=stock", "part=due&kind=hidden"} {
		f := &fake{}
		require.Equal(t, 400, do(newServer(t, f), asAdmin("GET", "/admin/pools/p/agenda?"+query, "")).Code, query)
		require.Nil(t, f.last(), query)
	}
}

// TestAgendaIsSummed: the times in the parameter "at" reach the store, and must rise.
// Only admins get the sums of open moves of stock; other roles get the number of these
// moves.
func TestAgendaIsSummed(t *testing.T) {
	f := &fake{}
	s := newServer(t, f, withTokens(tokenOf("root", access.Admin), tokenOf("eve", access.Auditor)))
	read := func(token, query string) (int, string) {
		w := do(s, request("GET", "/admin/pools/p/agenda/sums"+query, "", "Authorization", "Bearer "+token))
		return w.Code, w.Body.String()
	}
	const sums = `"sums":[{"span":0,"prize":"gold","items":3,"planned":5,"done":2,"failed":1},{"span":2,"prize":"pin","items":1,"planned":-4,"done":0,"failed":0}]`
	ends := `{"first":"` + api.ShowTime(at) + `","last":"` + api.ShowTime(at.Add(time.Hour)) + `",`
	status, body := read("root-admin", "?at=2999-01-01T00:00:00Z,2999-01-02T00:00:00Z")
	require.Equal(t, 200, status, body)
	require.JSONEq(t, ends+sums+`}`, body)
	day := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, []any{"p", []time.Time{day, day.AddDate(0, 0, 1)}, false}, f.last())
	status, body = read("eve-auditor", "")
	require.Equal(t, 200, status, body)
	require.JSONEq(t, ends+sums+`,"hidden":77}`, body)
	require.Equal(t, []any{"p", []time.Time(nil), true}, f.last())
	many := strings.Builder{}
	for n := range draw.AgendaSpansMax + 1 {
		many.WriteString("," + day.AddDate(0, 0, n).Format(time.RFC3339))
	}
	for _, wrong := range []string{"?at=", "?at=x", "?at=2999-01-02T00:00:00Z,2999-01-01T00:00:00Z", "?at=" + many.String()[1:]} {
		status, body = read("root-admin", wrong)
		require.Equal(t, 400, status, body)
	}
}

// TestPlaceOfPlannedStockIsForAdmins: other roles do not learn how many moves of stock
// come before the next state, because the store leaves all moves out. The first page has
// only their total number. The control is the admin's page.
func TestPlaceOfPlannedStockIsForAdmins(t *testing.T) {
	f := &fake{}
	s := newServer(t, f, withTokens(tokenOf("root", access.Admin), tokenOf("eve", access.Auditor)))
	read := func(token, query string) string {
		w := do(s, request("GET", "/admin/pools/p/agenda?part=due"+query, "", "Authorization", "Bearer "+token))
		require.Equal(t, 200, w.Code, w.Body)
		require.Equal(t, token == "eve-auditor", f.last().(partRead).page.WithoutStock)
		return w.Body.String()
	}
	require.Contains(t, read("root-admin", ""), `"prize":"gold"`)
	require.NotContains(t, read("root-admin", ""), `"hidden"`)
	require.NotContains(t, read("eve-auditor", ""), `"prize":"gold"`)
	require.Contains(t, read("eve-auditor", ""), `"hidden":77`)
	require.NotContains(t, read("eve-auditor", "&after=1"), `"hidden"`)
}

// TestPlannedStockIsForAdmins: other roles read how many moves of stock are planned,
// but not when. As a control, the admin reads all four items.
func TestPlannedStockIsForAdmins(t *testing.T) {
	s := newServer(t, &fake{}, withTokens(tokenOf("root", access.Admin), tokenOf("eve", access.Auditor), tokenOf("shop", access.Stock)))
	for token, hidden := range map[string]bool{"root-admin": false, "eve-auditor": true, "shop-stock": true} {
		w := do(s, request("GET", "/admin/pools/p/agenda", "", "Authorization", "Bearer "+token))
		require.Equal(t, 200, w.Code, w.Body)
		require.Equal(t, !hidden, strings.Contains(w.Body.String(), `"prize":"gold"`), "%s: %s", token, w.Body)
		require.Equal(t, hidden, strings.Contains(w.Body.String(), `"hidden":1`), "%s: %s", token, w.Body)
		require.Contains(t, w.Body.String(), `"state":"open"`, token)
	}
}
