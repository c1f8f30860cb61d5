package http

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// ruled is a store whose pools have rules.
type ruled struct{ Store }

func (r ruled) Pool(ctx context.Context, id string) (draw.Pool, error) {
	p, err := r.Store.Pool(ctx, id)
	p.RulesVersion = 9
	return p, err
}

// HadMoments reports that the agenda of each pool has contained a moment.
func (ruled) HadMoments(context.Context, string) (bool, error) { return true, nil }

// TestFairFactsAreWhatPlayersMayKnow: chances, guarantee and budget are shown only if
// the rules disclose the odds, counts are never shown, and a pool whose page is off
// shows nothing.
func TestFairFactsAreWhatPlayersMayKnow(t *testing.T) {
	t.Parallel()
	const secrets = `1/20|1 in 20|777|After 13|"chance"|stock|remain"|issued|mallory`
	for disclosed, check := range map[string]func(require.TestingT, any, any, ...any){"false": require.NotRegexp, "true": require.Regexp} {
		r, err := rules.Parse([]byte(`{"fallback":"none","win":"1/20","guarantee":{"after":13,"prize":"pin"},"budget":{"max":"777.00"},"blocked":["mallory"],"disclose":` + disclosed + `}`))
		require.NoError(t, err)
		f := &fake{rules: r}
		s := newServer(t, f, func(c *Config) { c.Store = ruled{c.Store} })
		w := do(s, request("GET", "/fair/p/facts", ""))
		require.Equal(t, 200, w.Code, w.Body)
		check(t, secrets, w.Body.String())
		require.Contains(t, w.Body.String(), "At winning moments", "also where the odds are not disclosed")
		require.Contains(t, w.Body.String(), `"fallback":"none"`)
		require.Contains(t, w.Body.String(), `"blocked":true`)
		require.Contains(t, w.Body.String(), `"moments":true`)
		require.NotRegexp(t, `"stocked"|"remaining"|"issued"|mallory`, w.Body.String())
		require.Contains(t, w.Body.String(), `{"id":"gold","name":"Gold coin","value":"19.90","kind":"prize"}`)
		asked := len(f.asked)
		for range 5 {
			require.Equal(t, w.Body.String(), do(s, request("GET", "/fair/p/facts", "")).Body.String())
			require.Equal(t, 200, do(s, request("GET", "/fair/p", "")).Code)
		}
		require.Len(t, f.asked, asked, "from memory")
		f.asked = nil
		for _, path := range []string{"/fair/spring", "/fair/spring/facts", "/fair/-/app.js", "/fair/-/index.html"} {
			require.Equal(t, "not-found", problemIn(t, do(s, request("GET", path, "")).Result()).Code, path)
		}
		require.Equal(t, []any{"spring"}, f.asked, "nothing but the pool was read")
	}
}
