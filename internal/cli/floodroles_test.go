package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// floodRoles are the roles in the order of their rights.
func floodRoles() []string { return []string{"none", "draw", "metrics", "auditor", "stock", "admin"} }

// floodCall is a call of a role; its body is CSV for an import.
type floodCall struct{ role, method, path, accept, body string }

// floodCalls are calls that read or change much. Those that roles above may make too
// are there once.
func floodCalls() []floodCall {
	const admin, move = "/admin/pools/spring", `{"delta":1,"reason":"delivery"}`
	return []floodCall{
		{"none", "GET", "/ui", "", ""},
		{"none", "GET", "/openapi.json", "", ""},
		{"none", "GET", "/readyz", "", ""},
		{"none", "GET", "/problems/sold-out", "", ""},
		{"draw", "POST", "/draw", "", `{"pool":"spring","user":"flood"}`},
		{"draw", "GET", "/pools/spring", "", ""},
		{"draw", "GET", "/pools/spring/odds", "", ""},
		{"draw", "GET", "/pools/spring/draws/known", "", ""},
		{"draw", "GET", "/pools/spring/users/u/awards?limit=1000", "", ""},
		{"draw", "GET", "/pools/revealed/proof/log", "", ""},
		{"draw", "GET", "/pools/revealed/draws/known/receipt", "", ""},
		{"metrics", "GET", "/metrics", "", ""},
		{"auditor", "GET", admin, "", ""},
		{"auditor", "GET", "/admin/pools", "", ""},
		{"auditor", "GET", admin + "/audit", "", ""},
		{"auditor", "GET", admin + "/awards", "text/csv", ""},
		{"auditor", "GET", admin + "/log", "application/x-ndjson", ""},
		{"auditor", "GET", admin + "/simulation?draws=20000", "", ""},
		{"stock", "POST", admin + "/prizes/p1/stock", "", move},
		{"stock", "POST", admin + "/import?dry_run=true", "", "prize,name,value,stock\n" + strings.Repeat("x\n", 1<<18)},
		{"stock", "POST", admin + "/import", "", "prize,name,value,stock\np1,,,1\n"},
		{"admin", "PATCH", admin, "", `{"name":"Spring"}`},
		{"admin", "PATCH", "/admin/pools/summer", "", `{"state":"open"}`},
		{"admin", "POST", "/admin/pools/revealed/proof", "", ""},
	}
}

// floodBy says whether a role may make a call.
func (c *floodCall) floodBy(role string) bool {
	may := map[string]string{"draw": "none draw", "metrics": "none metrics", "auditor": "none metrics auditor", "stock": "none auditor stock"}[role]
	return c.role == role || role == "admin" || slices.Contains(strings.Fields(may), c.role)
}

// flooded is a service that is flooded.
type flooded struct {
	*service
	tokens map[string]string
}

func (f *flooded) request(ctx context.Context, c *floodCall, role string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, c.method, f.url+c.path, strings.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if strings.Contains(c.path, "/import") {
		r.Header.Set("Content-Type", "text/csv")
	}
	r.Header.Set("Accept", c.accept)
	if token := f.tokens[role]; token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r, nil
}

// flood makes each call that a role may make over and over, sends bodies and reads
// answers slowly, and guesses tokens, until the function that it returns is called.
// That returns how many calls were answered.
func (f *flooded) flood(role string) (end func() int64) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: commandMax}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var answered atomic.Int64
	for _, c := range floodCalls() {
		for n := range 4 {
			if !c.floodBy(role) {
				continue
			}
			all.Go(func() {
				for ctx.Err() == nil {
					r, err := f.request(ctx, &c, role)
					if err != nil {
						f.tb.Error(err)
						return
					}
					if n == 0 {
						r.Header.Set("Authorization", "Bearer guessed")
					}
					answer, err := client.Do(r)
					if err != nil {
						continue // it was the end, or the connection made room
					}
					answered.Add(1)
					if n%2 == 0 {
						_, _ = io.Copy(io.Discard, answer.Body)
					}
					_ = answer.Body.Close()
				}
			})
		}
	}
	all.Go(func() { f.floodSlowly(ctx, role) })
	return func() int64 {
		cancel()
		all.Wait()
		client.CloseIdleConnections()
		return answered.Load()
	}
}

// floodSlowly opens connections whose bodies never come, and some whose answers are
// never read.
func (f *flooded) floodSlowly(ctx context.Context, role string) {
	var all []net.Conn
	defer func() {
		for _, c := range all {
			_ = c.Close()
		}
	}()
	token := ""
	if f.tokens[role] != "" {
		token = "Authorization: Bearer " + f.tokens[role] + "\r\n"
	}
	for n := 0; ctx.Err() == nil; n++ {
		c, err := net.Dial("tcp", strings.TrimPrefix(f.url, "http://"))
		if err != nil {
			continue
		}
		all = append(all, c)
		head := "POST /draw HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n"
		switch {
		case n%8 == 0 && role == "stock":
			head = "POST /admin/pools/spring/import HTTP/1.1\r\nContent-Type: text/csv\r\nContent-Length: 1000\r\n"
		case n < 32 && n%2 == 0:
			_ = c.(*net.TCPConn).SetReadBuffer(4096)
			paths := []string{"/openapi.json", "/pools/spring/odds", "/pools/revealed/proof/log", "/admin/pools/spring", "/admin/pools/spring/audit", "/admin/pools/spring/log"}
			head = "GET " + paths[n/2%len(paths)] + " HTTP/1.1\r\n"
		}
		_, _ = io.WriteString(c, head+"Host: localhost\r\n"+token+"\r\n{")
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// honest makes a call of a role on a connection of its own, which must be answered
// well.
func (f *flooded) honest(c *floodCall, role, key string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: answerMax}
	r, err := f.request(context.Background(), c, role)
	if err != nil {
		return err
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("%s %s: %w", c.method, c.path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		return fmt.Errorf("%s %s is answered %d: %.300s %w", c.method, c.path, answer.StatusCode, text, err)
	}
	return nil
}

// round makes each call of the roles above one, a draw, its replay and the probes.
func (f *flooded) round(above string, n int) error {
	place := slices.Index(floodRoles(), above)
	if above == "draw" { // of the same rank
		place++
	}
	for _, c := range floodCalls() {
		if slices.Index(floodRoles(), c.role) <= place || strings.Contains(c.body, "x\nx\n") {
			continue
		}
		if err := f.honest(&c, c.role, ""); err != nil {
			return err
		}
	}
	won := floodCall{"draw", "POST", "/draw", "", `{"pool":"spring","user":"honest"}`}
	for _, c := range []floodCall{won, won, {"none", "GET", "/livez", "", ""}, {"none", "GET", "/readyz", "", ""}} {
		key := ""
		if c.method == "POST" {
			key = fmt.Sprintf("%s-%d", above, n)
		}
		if err := f.honest(&c, c.role, key); err != nil {
			return err
		}
	}
	return nil
}

// floodable is a service with a pool of many prizes, one whose seed is revealed, and a
// token of each role.
func floodable(t *testing.T, dialect string) *flooded {
	t.Helper()
	recipients, identity := keyFiles(t)
	p := on(t, stocktest.Migrated(t, dialect))
	p.ok("migrate", "up")
	p.ok("pool", "create", "summer", "--prize", "id=gold,stock=5")
	p.ok("pool", "create", "revealed", "--state=paused", "--prize", "id=gold,stock=1000")
	p.ok("pool", "commit", "revealed", "--origin=draws.example.org", "--seed-recipients", recipients)
	p.ok("pool", "open", "revealed", "--seed-identity-file", identity)
	p.ok("pool", "create", "spring")
	var file strings.Builder
	file.WriteString("prize,name,value,stock,kind\nnone,No win,,,blank\n")
	for i := range 1000 {
		fmt.Fprintf(&file, "p%d,Prize %d,1.00,1000000,\n", i, i)
	}
	p.stdin = file.String()
	p.ok("stock", "import", "--pool", "spring", "-")
	f := &flooded{tokens: map[string]string{}}
	path := filepath.Join(t.TempDir(), "tokens.json")
	var all []made
	for _, role := range floodRoles()[1:] {
		token := p.newToken("--name", role, "--role", role)
		f.tokens[role] = token.token
		all = append(all, token)
	}
	writeTokens(t, path, all...)
	f.service = p.serve("--tokens", path, "--connections-max", "200", "--seed-identity-file", identity)
	f.token = f.tokens["admin"]
	f.admin(200, "PUT", "/admin/pools/spring/rules", `{"fallback":"none","disclose":true,"limits":[{"of":"draws","max":1000000,"per":"day"}]}`)
	for _, pool := range []string{"spring", "revealed"} {
		require.NoError(t, f.honest(&floodCall{"draw", "POST", "/draw", "", `{"pool":"` + pool + `","user":"u"}`}, "draw", "known"))
	}
	for range 3 {
		require.NoError(t, f.honest(&floodCall{"draw", "POST", "/draw", "", `{"pool":"revealed","user":"u","count":100}`}, "draw", ""))
	}
	f.admin(200, "PATCH", "/admin/pools/revealed", `{"state":"closed"}`)
	f.admin(200, "POST", "/admin/pools/revealed/reveal", "")
	require.NoError(t, f.round("none", -1), "while nobody floods")
	return f
}

// TestFloodsOfEveryRole: while a role makes all its calls as fast as it can, and slowly,
// no call of a higher role, no draw, replay or probe is refused.
func TestFloodsOfEveryRole(t *testing.T) {
	servertest.Long(t) // both processors work all the while
	t.Parallel()
	for _, dialect := range []string{"postgres", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			f := floodable(t, dialect)
			for _, role := range floodRoles() {
				end := f.flood(role)
				begun, n := time.Now(), 0
				for ; n < 3 || n < 100 && time.Since(begun) < 3*time.Second; n++ {
					if err := f.round(role, n); err != nil {
						end()
						require.NoError(t, err, "while %s floods", role)
					}
				}
				each, answered := time.Since(begun)/time.Duration(n), end()
				t.Logf("%s: %d rounds, %s each; %d calls of the flood were answered", role, n, each, answered)
				require.Greater(t, answered, int64(10*n), "it is a flood")
			}
		})
	}
}
