package cli

import (
	"encoding/base64"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// ticketSecret is 32 bytes long.
const ticketSecret = "0123456789abcdef0123456789abcdef"

func keysFile(secret string) string {
	return `{"keys":[{"kty":"oct","kid":"k","k":"` + base64.RawURLEncoding.EncodeToString([]byte(secret)) + `"}]}`
}

func ticketOf(tb testing.TB, secret, id string, until time.Time) string {
	tb.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"pool": "spring", "sub": "u1", "jti": id, "exp": until.Unix()})
	token.Header["kid"] = "k"
	signed, err := token.SignedString([]byte(secret))
	require.NoError(tb, err)
	return `{"pool":"spring","ticket":"` + signed + `"}`
}

// TestTicketIsOneDraw: a ticket draws once, however often it is used, on any instance.
func TestTicketIsOneDraw(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := on(t, url)
		p.ok("migrate", "up")
		p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1000", "--rules", p.written("rules.json", `{"tickets":true}`))
		keys := p.written("keys.json", keysFile(ticketSecret))
		instances := []*service{p.serve("--ticket-keys", keys)}
		if !strings.HasPrefix(url, "sqlite:") {
			instances = append(instances, p.serve("--ticket-keys", keys), p.serve("--ticket-keys", keys))
		}
		ticket := ticketOf(t, ticketSecret, "order-1", time.Now().Add(time.Hour))
		answers := make([]string, 200)
		var asking sync.WaitGroup
		for i := range answers {
			asking.Go(func() {
				for status := 0; status != http.StatusOK; { // an instance may be too busy to answer
					var err error
					status, answers[i], err = instances[i%len(instances)].ask("POST", "/draw", ticket)
					if err != nil || status != http.StatusOK && status < 500 {
						t.Errorf("%d %v: %s", status, err, answers[i])
						return
					}
				}
			})
		}
		asking.Wait()
		first, _ := parseDraw(t, answers[0])
		fresh := 0
		for _, answer := range answers {
			one, replayed := parseDraw(t, answer)
			require.Equal(t, first, one)
			if !replayed {
				fresh++
			}
		}
		require.Equal(t, "order-1", first["draw"])
		require.Equal(t, 1, fresh)
		pool := members(t, p.ok("pool", "show", "spring", "--output", "json"))
		require.EqualValues(t, 1, pool["prizes"].([]any)[0].(map[string]any)["issued"])
	})
}

// TestTicketGate: without a valid ticket nothing is drawn, but a known draw is still
// answered.
func TestTicketGate(t *testing.T) {
	t.Parallel()
	p := on(t, stocktest.Migrated(t, "sqlite"))
	p.ok("migrate", "up")
	p.ok("pool", "create", "spring", "--prize", "id=gold,stock=9")
	keys := p.written("keys.json", keysFile(ticketSecret))
	s := p.serve("--ticket-keys", keys)
	expired := ticketOf(t, ticketSecret, "order-2", time.Now().Add(-time.Hour))
	s.admin(200, "POST", "/draw", expired) // no pool needs tickets yet
	s.admin(200, "PUT", "/admin/pools/spring/rules", `{"tickets":true}`)
	for body, refusal := range map[string][]any{
		`{"pool":"spring","user":"u1"}`:                                     {"ticket-required", "none"},
		ticketOf(t, ticketSecret, "order-3", time.Now().Add(-time.Hour)):    {"ticket-expired", "none"},
		ticketOf(t, ticketSecret+"x", "order-4", time.Now().Add(time.Hour)): {"ticket-invalid", "unknown"}, // its draw is unknown
		`{"pool":"spring","user":"u1","ticket":"eyJhbGciOiJub25lIn0.e30."}`: {"ticket-invalid", "unknown"},
	} {
		answer := members(t, s.admin(403, "POST", "/draw", body))
		require.Equal(t, refusal, []any{answer["code"], answer["outcome"]})
	}
	_, replayed := parseDraw(t, s.admin(200, "POST", "/draw", expired))
	require.True(t, replayed, "an expired ticket of a known draw")

	// The keys are replaced while the service runs.
	next := strings.Repeat("next key", 4)
	require.NoError(t, os.WriteFile(keys, []byte("{"), 0o600))
	require.NoError(t, os.WriteFile(keys, []byte(keysFile(next)), 0o600))
	good := ticketOf(t, next, "order-5", time.Now().Add(time.Hour))
	require.Eventually(t, func() bool {
		status, _, err := s.ask("POST", "/draw", good)
		return err == nil && status == 200
	}, commandMax, 200*time.Millisecond)
	require.Equal(t, "ticket-invalid", members(t, s.admin(403, "POST", "/draw", expired))["code"], "the key of old tickets was removed")
	p.refused(exitUsage, "--ticket-keys: must be a JWKS", "serve", "--ticket-keys", p.written("bad.json", "{"))
}
