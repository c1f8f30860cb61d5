package http

import (
	"context"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/hook"
)

func someHook(id string) hook.Hook {
	return hook.Hook{ID: id, URL: "https://shop.example/in", Filter: hook.Filter{Pools: []string{"p"}}, Revision: 3, Secret: make([]byte, 32)}
}

func seenHook(id string) hook.Seen {
	h := someHook(id)
	h.Secret = nil
	return hook.Seen{Hook: h, Status: hook.Status{
		State: hook.StateFailing, Lag: hook.Lag{Events: 7, Oldest: at}, Last: hook.Answer{At: at, Status: 500, Error: "status 500", Took: 12 * time.Millisecond},
		NextAt: at.Add(time.Minute),
	}}
}

// ReadHooks implements HookReader.
func (f fakeStore) ReadHooks(context.Context) ([]hook.Seen, time.Time, error) {
	return []hook.Seen{seenHook("h")}, at.Add(time.Second), f.note("hooks")
}

// ReadHook implements HookReader.
func (f fakeStore) ReadHook(_ context.Context, id string) (hook.Seen, time.Time, error) {
	return seenHook(id), at.Add(time.Second), f.note(id)
}

// OpenHook implements HookSecrets.
func (f fakeStore) OpenHook(_ context.Context, id string) (hook.Hook, error) {
	return someHook(id), f.note(id)
}

// CreateHook implements HookChanger.
func (f fakeStore) CreateHook(_ context.Context, w hook.Create) (hook.Hook, error) {
	return someHook("h"), f.note(w)
}

// ChangeHook implements HookChanger.
func (f fakeStore) ChangeHook(_ context.Context, id string, c hook.Change) (hook.Hook, error) {
	return someHook(id), f.note([]any{id, c})
}

// RemoveHook implements HookChanger.
func (f fakeStore) RemoveHook(_ context.Context, id string) error { return f.note(id) }

// RotateHook implements HookSecrets.
func (f fakeStore) RotateHook(_ context.Context, id string) (hook.Hook, error) {
	return someHook(id), f.note(id)
}

// RetryHook implements HookMover.
func (f fakeStore) RetryHook(_ context.Context, id string) error { return f.note(id) }

// SkipHook implements HookMover.
func (f fakeStore) SkipHook(_ context.Context, id, poolID string) (before, after hook.Place, err error) {
	return hook.Place{Version: 1}, hook.Place{Version: 2}, f.note([]any{id, poolID})
}

// ReplayHook implements HookMover.
func (f fakeStore) ReplayHook(_ context.Context, id, poolID string, after hook.Place) error {
	return f.note([]any{id, poolID, after})
}

// Now implements HookSecrets.
func (f fakeStore) Now() time.Time { return at }

// noSender answers every test, and takes every URL, without a network.
type noSender struct{ *hook.Sender }

// Test implements HookSender.
func (noSender) Test(_ context.Context, _ *hook.Hook, now time.Time) hook.Answer {
	return hook.Answer{At: now, Status: 200, Took: 12 * time.Millisecond}
}

const shownHook = `{"id":"h","url":"https://shop.example/in","types":["award.won","award.claimed","award.fulfilled","award.reopened",
	"award.expired","award.voided","award.replaced","prize.low","prize.empty","pool.empty","agenda.failed","budget.spent",
	"pool.opened","pool.paused","pool.closed"],"pools":["p"],"prizes":null,"state":"failing","why":"","lag":{"events":7,"seconds":1},
	"last":{"at":"2026-03-04T04:06:07.000890Z","status":500,"error":"status 500","ms":12},"next_at":"2026-03-04T04:07:07.000890Z","old_secret_until":null`

// TestHooks: hooks are created with a secret, which no other answer has.
func TestHooks(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{})
	w := do(s, asAdmin("POST", "/admin/hooks", `{"url":"https://shop.example/in","types":["award.won"],"pools":["p"],"from":"start"}`))
	require.Equal(t, 201, w.Code, w.Body)
	require.Equal(t, "/admin/hooks/h", w.Header().Get("Location"))
	require.Contains(t, w.Body.String(), `"secret":"whsec_AAAA`)
	w = do(s, asAdmin("GET", "/admin/hooks", ""))
	require.Equal(t, 200, w.Code)
	require.NotContains(t, w.Body.String(), "secret\"")
	require.Contains(t, w.Body.String(), `"state":"failing"`)
	require.JSONEq(t, shownHook+"}", do(s, asAdmin("GET", "/admin/hooks/h", "")).Body.String())
	require.Equal(t, 200, do(s, asAdmin("PATCH", "/admin/hooks/h", `{"prizes":null,"state":"on"}`)).Code)
	require.Equal(t, nethttp.StatusNoContent, do(s, asAdmin("DELETE", "/admin/hooks/h", "")).Code)
	require.JSONEq(t, `{"status":200,"error":"","ms":12}`, do(s, asAdmin("POST", "/admin/hooks/h/test", "")).Body.String())
	require.Contains(t, do(s, asAdmin("POST", "/admin/hooks/h/rotate", "")).Body.String(), `"secret":"whsec_`)
	for call, body := range map[string]string{"retry": "", "skip": `{"pool":"p"}`, "replay": `{"pool":"p","after":7}`} {
		require.Equal(t, 202, do(s, asAdmin("POST", "/admin/hooks/h/"+call, body)).Code, call)
	}
}

// TestHooksRefuse: invalid hooks are refused. An address that the dialer would refuse
// is refused at once.
func TestHooksRefuse(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"url":"http://shop.example/in"}`, `{"url":"https://127.0.0.1/in"}`, `{"url":"https://[::1]/in"}`, `{"url":"https://[::ffff:10.0.0.1]/in"}`,
		`{"url":"https://0x7f000001/in"}`, `{"url":"https://169.254.169.254/"}`, `{"url":"https://u:p@shop.example/"}`, `{"url":"https://shop.example/#a"}`,
		`{"url":"ftp://shop.example/"}`, `{"url":""}`, `{"url":"https://shop.example/","types":[]}`, `{"url":"https://shop.example/","types":["award.one"]}`,
		`{"url":"https://shop.example/","pools":["P"]}`, `{"url":"https://shop.example/","prizes":[]}`, `{"url":"https://shop.example/","from":"then"}`,
		`{"url":"https://shop.example/","types":"award.won"}`, `{"url":"https://shop.example/","pools":["p","p"]}`,
	} {
		w := do(newServer(t, &fake{}), asAdmin("POST", "/admin/hooks", body))
		require.Equal(t, 400, w.Code, body)
	}
	for _, body := range []string{`{}`, `{"state":"failing"}`, `{"url":"https://10.0.0.1/"}`, `{"types":[]}`} {
		w := do(newServer(t, &fake{}), asAdmin("PATCH", "/admin/hooks/h", body))
		require.Equal(t, 400, w.Code, body)
	}
	for _, body := range []string{`{"pool":"p","after":-1}`, `{"pool":"p"}`, `{"pool":"p","after":null}`, `{"after":7}`, `{"pool":"p","after":7,"after_step":-1}`} {
		require.Equal(t, 400, do(newServer(t, &fake{}), asAdmin("POST", "/admin/hooks/h/replay", body)).Code, body)
	}
	require.Equal(t, 400, do(newServer(t, &fake{}), asAdmin("POST", "/admin/hooks/h/skip", `{"pool":"P"}`)).Code)
	require.Equal(t, 400, do(newServer(t, &fake{}), asAdmin("POST", "/admin/hooks", `{"url":"https://shop.example/`+strings.Repeat("a", 1000)+`"}`)).Code)
}
