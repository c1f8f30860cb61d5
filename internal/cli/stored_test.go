package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/access"
	"drawsvc/internal/servertest"
	"drawsvc/internal/servertest/drand"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// storedCall is a call about a pool or a job.
type storedCall struct {
	// needs names the stored value that the call requires. If it is "", no damage stops the
	// call.
	needs              string
	method, path, body string
	headers            []string
}

// damage makes a stored value unreadable for this release: it is damaged, or has a form
// that a later release would write.
type damage struct {
	// pool is the pool's name; BEACON in it means a pool with a beacon.
	pool, sql string
	// stops has the code of a call's 503 answer, by the stored value that the call needs.
	stops map[string]string
}

const (
	laterBody   = `{"later":{"since":"9.0"}}`
	damagedBody = `{"dama`
)

// damages returns a damage for each stored value of a pool that is parsed.
func damages() []damage {
	const unread, away = "rules-unreadable", "seed-unavailable"
	rules := map[string]string{"new": unread, "rules": unread, "receipt": unread, "publish": unread, "erase": unread}
	history := map[string]string{"publish": unread}
	entry := map[string]string{"new": away, "new-after": away, "commitment": unread, "publish": unread}
	note := map[string]string{"new": away, "new-after": "paused", "commitment": unread, "publish": unread, "open": unread, "receipt": unread, "erase": unread}
	signer := map[string]string{"receipt": away, "erase": away, "publish": away}
	change := func(what, body string) string {
		return "UPDATE changes SET body = '" + body + "' WHERE pool_id = 'POOL' AND what = '" + what + "'"
	}
	commitment := func(set string) string { return "UPDATE commitments SET " + set + " WHERE pool_id = 'POOL'" }
	items := func(body string) string { return "UPDATE agenda SET body = '" + body + "' WHERE pool_id = 'POOL'" }
	return []damage{
		{"healthy", "", nil},
		{"healthy-beacon", "", nil},
		{"rules-later", change("rules", `{"rules":`+laterBody+`}`), rules},
		{"rules-damaged", change("rules", damagedBody), rules},
		{"items-later", items(laterBody), nil},
		{"items-damaged", items(damagedBody), nil},
		{"mode-later", "UPDATE pools SET mode = 'later' WHERE id = 'POOL'", nil},
		{"created-damaged", change("created", damagedBody), history},
		{"state-later", change("state", laterBody), history},
		{"state-damaged", change("state", damagedBody), history},
		{"name-later", change("name", laterBody), history},
		{"prize-later", change("prize", laterBody), history},
		{"agenda-damaged", change("agenda", damagedBody), history},
		{"kind-later", "UPDATE changes SET what = 'later' WHERE pool_id = 'POOL' AND what = 'name'", history},
		{"commit-damaged", change("commit", damagedBody), entry},
		{"note-later", commitment("note = 'drawsvc commitment v9'"), note},
		{"note-later-beacon", commitment("note = 'drawsvc commitment v9'"), note},
		{"key-later", commitment("public = 'later'"), note},
		{"seed-damaged", commitment("seed = signer"), map[string]string{"new": away, "new-after": away, "publish": away}},
		{"salts-damaged", commitment("salts = signer"), signer},
		{"signer-damaged", commitment("signer = seed"), signer},
		{"opening-later-beacon", change("opening", damagedBody), map[string]string{"open": unread, "publish": unread}},
		{"opened-later-beacon", change("state", laterBody), map[string]string{"new": away, "commitment": unread, "publish": unread}},
	}
}

// damagesOn returns the damages that are tried on a dialect. SQLite gets all of them.
// Parsing does not depend on the database, so other dialects get one damage of each kind,
// unless every combination is requested.
func damagesOn(dialect string) (some []damage) {
	seen := map[string]bool{}
	for _, d := range damages() {
		kind := fmt.Sprint(d.isBeacon(), d.stops)
		if dialect == "sqlite" || servertest.Every() || !seen[kind] {
			some = append(some, d)
		}
		seen[kind] = true
	}
	return some
}

func (d damage) isBeacon() bool { return strings.HasSuffix(d.pool, "-beacon") }

// storedOfInstance returns statements that damage rows which belong to no pool. binary is
// how the database writes the byte x.
func storedOfInstance(binary string) []string {
	return []string{
		"INSERT INTO jobs (name, enabled, schedule, per, stale_after, status, due_at, changed_at, report) " +
			"SELECT 'later', enabled, 'at full moon', per, stale_after, status, due_at, changed_at, report FROM jobs WHERE name = 'audit'",
		"UPDATE jobs SET schedule = 'at full moon', report = " + binary + " WHERE name = 'statement'",
		"UPDATE catalogue SET body = " + binary + ", digest = '2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881'",
	}
}

// callsOfInstance returns the calls about the rows that storedOfInstance damages. The
// damage must not stop any of them.
func callsOfInstance() []storedCall {
	return []storedCall{
		{"", "GET", "/admin/jobs", "", nil},
		{"", "GET", "/admin/jobs/later", "", nil},
		{"", "GET", "/admin/jobs/statement", "", nil},
		{"", "GET", "/admin/jobs/statement/runs", "", nil},
		{"", "PATCH", "/admin/jobs/statement", `{"enabled":false}`, nil},
		{"", "POST", "/admin/jobs/statement/run", "", nil},
		{"", "PATCH", "/admin/jobs/statement", `{"schedule":"0 1 * * *"}`, nil},
		{"", "GET", "/pools/other", "", nil},
		{"", "GET", "/metrics", "", nil},
		{"", "GET", "/readyz", "", nil},
	}
}

// knownKey and newKey return calls that draw with a known and with a new key.
func knownKey(pool, more string) storedCall {
	return storedCall{"known", "POST", "/draw", `{"pool":"` + pool + `","user":"u"` + more + `}`, []string{"Idempotency-Key", "known"}}
}

func newKey(needs, pool string) storedCall {
	return storedCall{needs, "POST", "/draw", `{"pool":"` + pool + `","user":"u"}`, []string{"Idempotency-Key", needs + "-" + pool}}
}

// callsOfPool returns the calls about a pool, in an order in which each succeeds on a
// pool without a beacon.
func callsOfPool(pool string) []storedCall {
	public, admin := "/pools/"+pool, "/admin/pools/"+pool
	patch := func(needs, body string) storedCall { return storedCall{needs, "PATCH", admin, body, nil} }
	calls := []storedCall{
		newKey("new", pool), knownKey(pool, ""), knownKey(pool, `,"receipt":true`), newKey("", "other"),
		{"", "GET", public, "", nil},
		{"", "GET", public + "/draws/known", "", nil},
		{"receipt", "GET", public + "/draws/known/receipt", "", nil},
		{"rules", "GET", public + "/users/u", "", nil},
		{"rules", "GET", public + "/users/u/awards", "", nil},
		{"", "GET", public + "/proof/commitment", "", nil},
		{"", "GET", public + "/proof/key", "", nil},
		{"", "GET", "/admin/pools", "", nil},
		{"", "GET", admin, "", nil},
		{"commitment", "GET", admin + "/commitment", "", nil},
		{"rules", "GET", admin + "/odds", "", nil},
		{"rules", "GET", admin + "/simulation?draws=10&users=5", "", nil},
		{"", "GET", admin + "/awards?user=u", "", nil},
		{"", "GET", admin + "/awards", "", []string{"Accept", "text/csv"}},
		{"", "GET", admin + "/log", "", []string{"Accept", "application/x-ndjson"}},
	}
	for _, list := range []string{"awards", "moves", "log", "rules", "agenda", "audit", "statements"} {
		calls = append(calls, storedCall{"", "GET", admin + "/" + list, "", nil})
	}
	calls = append(calls, patch("", `{"state":"paused","retry_after":"5m","notice":"soon"}`), knownKey(pool, ""),
		storedCall{"", "POST", admin + "/prizes/gold/stock", `{"delta":1,"reason":"more"}`, []string{"Idempotency-Key", "stock"}},
		storedCall{"", "POST", admin + "/prizes", `{"id":"bronze","name":"Bronze","value":"1.00","stock":1}`, nil},
		storedCall{"", "PATCH", admin + "/prizes/bronze", `{"name":"Brass"}`, nil},
		storedCall{"", "POST", admin + "/import", "prize,name,value,stock\ngold,,,5\n", []string{"Content-Type", "text/csv", "Idempotency-Key", "file"}},
		storedCall{"", "POST", admin + "/agenda", `{"at":"2098-01-01T00:00:00Z","state":"closed"}`, []string{"Idempotency-Key", "plan"}},
		storedCall{"", "PUT", admin + "/rules", `{"fallback":"none","limits":[{"of":"draws","max":1000}]}`, nil},
		storedCall{"", "DELETE", admin + "/rules", "", nil},
		patch("", `{"name":"Another"}`), patch("", `{"mode":"for-update"}`), patch("open", `{"state":"open"}`),
	)
	for item := range 4 {
		calls = append(calls, storedCall{"", "DELETE", admin + "/agenda/" + strconv.Itoa(item+1), "", nil})
	}
	return append(calls, newKey("new-after", pool), knownKey(pool, `,"receipt":true`), patch("", `{"state":"closed"}`), knownKey(pool, ""),
		storedCall{"erase", "DELETE", admin + "/users/u", "", nil},
		storedCall{"publish", "POST", admin + "/reveal", "", nil},
		storedCall{"publish", "POST", admin + "/proof", "", nil},
		patch("", `{"archived":true}`), storedCall{"", "GET", "/admin/pools?archived=true", "", nil},
	)
}

// storedPool creates a pool with a known draw, and with everything that can be stored
// about a pool.
func storedPool(t *testing.T, s *service, pool string, chain *drand.Chain) {
	admin := "/admin/pools/" + pool
	s.admin(201, "POST", "/admin/pools", fmt.Sprintf(`{"id":%q,"name":"Spring","state":"paused","prizes":[{"id":"gold","name":"Gold","value":"1.00","stock":10000}]}`, pool))
	s.admin(201, "POST", admin+"/prizes", `{"id":"none","name":"Nothing","kind":"blank","value":"0.00"}`)
	s.admin(200, "PATCH", admin, `{"name":"Spring draw","mode":"optimistic"}`)
	s.admin(200, "PATCH", admin+"/prizes/none", `{"name":"No win"}`)
	open, committed := `{"state":"open"}`, `{}`
	isBeacon := strings.HasSuffix(pool, "-beacon")
	if isBeacon {
		committed = fmt.Sprintf(`{"beacon":%q}`, chain.Beacon())
	}
	s.admin(201, "POST", admin+"/commitment", committed)
	s.admin(200, "PUT", admin+"/rules", `{"fallback":"none","win":"1/2","limits":[{"of":"draws","max":1000}]}`)
	s.admin(201, "POST", admin+"/agenda", `{"at":"2099-01-01T00:00:00Z","state":"paused"}`)
	s.admin(201, "POST", admin+"/agenda", `{"at":"2099-01-01T00:00:00Z","rules":{"fallback":"none"}}`)
	s.admin(201, "POST", admin+"/agenda", `{"at":"2099-01-01T00:00:00Z","prize":"gold","delta":1,"reason":"more"}`)
	if isBeacon {
		var p struct{ Opening struct{ Round int64 } }
		require.NoError(t, json.Unmarshal([]byte(s.admin(200, "PATCH", admin, open)), &p))
		open = fmt.Sprintf(`{"state":"open","round":%d,"signature":%q}`, p.Opening.Round, chain.Sign(p.Opening.Round))
	}
	s.admin(200, "PATCH", admin, open)
	s.won(pool, "u", "known")
}

// askStored makes the calls and returns the faults. These are faults: a call that is
// stopped by rows that it does not need, or with a wrong code; an unanswered known key;
// and a status that differs from the intact database's, if statuses has it.
func askStored(t *testing.T, s *service, calls []storedCall, stops map[string]string, statuses []int) (faults []string, got []int) {
	t.Helper()
	for i, c := range calls {
		status, answer, err := s.ask(c.method, c.path, c.body, append(c.headers, "Authorization", "Bearer "+s.token)...)
		require.NoError(t, err)
		got = append(got, status)
		code := stops[c.needs]
		switch {
		case c.needs == "known" && status == 200 && strings.Contains(answer, `"replayed":true`):
		case c.needs != "known" && code != "" && status == 503 && strings.Contains(answer, `"code":"`+code+`"`):
		case c.needs != "known" && code == "" && (statuses == nil || status == statuses[i]):
		default:
			faults = append(faults, fmt.Sprintf("%s %s %s: %d %s", c.method, c.path, c.body, status, answer))
		}
	}
	return faults, got
}

// storedService creates a database in which everything is damaged, and serves it.
func storedService(t *testing.T, dialect string) *service {
	t.Helper()
	recipients, identity := keyFiles(t)
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"prizes":[{"id":"gold","description":"It shines."}]}`)
	}))
	t.Cleanup(source.Close)
	chain := drand.New(t, time.Now().Unix()-100, 1)
	p := on(t, stocktest.Migrated(t, dialect))
	flags := []string{"--origin=draws.example.org", "--seed-identity-file", identity, "--seed-recipients", recipients}
	s := p.serve(append(flags, "--catalogue-url", source.URL)...)
	s.admin(201, "POST", "/admin/pools", `{"id":"other","name":"Other","prizes":[{"id":"gold","name":"Gold","value":"1.00","stock":1000}]}`)
	for _, d := range damagesOn(dialect) {
		storedPool(t, s, d.pool, chain)
	}
	require.Eventually(t, func() bool { return strings.Contains(s.admin(200, "GET", "/pools/other", ""), "It shines.") }, time.Minute, 10*time.Millisecond)
	require.Equal(t, exitOK, s.end().code)

	binary := map[string]string{"postgres": `'\x78'`}[dialect]
	if binary == "" {
		binary = "X'78'"
	}
	statements := storedOfInstance(binary)
	for _, d := range damagesOn(dialect) {
		if d.sql != "" {
			statements = append(statements, strings.ReplaceAll(d.sql, "POOL", d.pool))
		}
	}
	tamper(t, p.vars["DRAWSVC_DATABASE"], statements...)
	const token = "token-of-an-admin-0123456789abcdef"
	tokens := filed(t, fmt.Sprintf(`{"tokens":[{"name":"herald","role":"herald","sha256":"%064x"},{"name":"ops","role":"admin","sha256":%q}]}`, 1, access.DigestOf(token)))
	s = p.serve(append(flags, "--tokens", tokens)...)
	s.token = token
	return s
}

// blaming starts a proxy in front of the service. It answers like a service that blames
// its callers for damaged rows: it answers that the call is wrong, or refuses a known
// key.
func blaming(t *testing.T, s *service, edit func(r *http.Response, body string) (int, string)) *service {
	t.Helper()
	target, err := url.Parse(s.url)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		status, answer := edit(r, string(body))
		r.StatusCode, r.Body = status, io.NopCloser(strings.NewReader(answer))
		r.Header.Set("Content-Length", strconv.Itoa(len(answer)))
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return &service{tb: t, url: server.URL, token: s.token, client: s.client}
}

// TestStoredThingsStopNothingElse: if an instance cannot read a stored value, no caller
// is blamed. Known keys, pauses, replacements, removals and lists still work. A call
// that needs the value gets 503 with its own code.
func TestStoredThingsStopNothingElse(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := storedService(t, dialect)
			faults, _ := askStored(t, s, callsOfInstance(), nil, nil)
			require.Empty(t, faults)
			healthy := map[bool][]int{}
			for _, d := range damagesOn(dialect) {
				faults, statuses := askStored(t, s, callsOfPool(d.pool), d.stops, healthy[d.isBeacon()])
				require.Empty(t, faults, d.pool)
				if healthy[d.isBeacon()] == nil {
					healthy[d.isBeacon()] = statuses
				}
			}
			for i, status := range healthy[false] {
				require.Less(t, status, 300, callsOfPool("healthy")[i])
			}
		})
	}
}

// TestStoredThingsCatches: the test fails for a service that blames its callers for
// damaged rows, and for a service that refuses a known key.
func TestStoredThingsCatches(t *testing.T) {
	t.Parallel()
	s := storedService(t, "sqlite")
	stops := damages()[2].stops
	blames := blaming(t, s, func(r *http.Response, body string) (int, string) {
		if r.StatusCode == http.StatusServiceUnavailable {
			return 400, strings.ReplaceAll(body, "rules-unreadable", "invalid-request")
		}
		return r.StatusCode, body
	})
	faults, _ := askStored(t, blames, callsOfPool("rules-later")[:1], stops, nil)
	require.Len(t, faults, 1, "the new draw")
	refuses := blaming(t, s, func(r *http.Response, body string) (int, string) {
		if strings.Contains(body, `"replayed":true`) {
			return 503, `{"code":"rules-unreadable","outcome":"unknown"}`
		}
		return r.StatusCode, body
	})
	faults, _ = askStored(t, refuses, callsOfPool("rules-later")[:4], stops, nil)
	require.Len(t, faults, 2, "the known key, without and with a receipt")
	faults, _ = askStored(t, s, callsOfPool("rules-later"), stops, nil)
	require.Empty(t, faults)
}
