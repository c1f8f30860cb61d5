package cli

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/http/floods"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// unmeasured ignores the times of a round.
func unmeasured(*floods.Call, time.Duration) {}

// floodable returns a service with the pools of the calls, and a token of each role.
func floodable(t *testing.T, dialect string) *floods.Service {
	t.Helper()
	recipients, identity := keyFiles(t)
	p := on(t, stocktest.Migrated(t, dialect))
	f := &floods.Service{Tokens: map[string]string{}, AnswerMax: answerMax}
	path := filepath.Join(t.TempDir(), "tokens.json")
	var all []made
	for _, role := range floods.Roles()[1:] {
		token := p.newToken("--name", role, "--role", role)
		f.Tokens[role] = token.token
		all = append(all, token)
	}
	writeTokens(t, path, all...)
	f.URL = p.serve("--tokens", path, "--connections-max", "200", "--seed-identity-file", identity, "--seed-recipients", recipients).url
	require.NoError(t, f.Prepare(t.Context()))
	require.NoError(t, f.Ask(t.Context(), "none", -1, unmeasured), "while nobody floods")
	return f
}

// TestFloodsOfEveryRole: while a role makes all its calls, fast and slowly, no call of
// a higher role, no draw, replay or probe is refused. The fault experiment of the same
// name measures their times.
func TestFloodsOfEveryRole(t *testing.T) {
	servertest.Long(t) // both processors are busy all the time
	t.Parallel()
	for _, dialect := range []string{"postgres", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			f := floodable(t, dialect)
			lasts := time.Second // how long the flood of a role lasts
			if servertest.Every() {
				lasts = 3 * time.Second
			}
			for _, role := range floods.Roles() {
				end := f.Flood(role)
				begun, n := time.Now(), 0
				for ; n < 3 || n < 100 && time.Since(begun) < lasts; n++ {
					if err := f.Ask(t.Context(), role, n, unmeasured); err != nil {
						_, _ = end()
						require.NoError(t, err, "while %s floods", role)
					}
				}
				each := time.Since(begun) / time.Duration(n)
				answered, err := end()
				require.NoError(t, err)
				t.Logf("%s: %d rounds, %s each; %d calls of the flood were answered", role, n, each, answered)
				require.Greater(t, answered, int64(10*n), "it is a flood")
			}
		})
	}
}
