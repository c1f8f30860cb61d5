package api

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
	"drawsvc/internal/hook"
)

// Hooks are all hooks, the oldest first.
type Hooks struct {
	Hooks []Hook `json:"hooks"`
}

// Hook is a hook with its status.
type Hook struct {
	ID    string      `json:"id"`
	URL   string      `json:"url"`
	Types []hook.Type `json:"types"`
	// Pools and Prizes are null for all.
	Pools  *[]string  `json:"pools"`
	Prizes *[]string  `json:"prizes"`
	State  hook.State `json:"state"`
	// Why is "" unless the state is off or forked.
	Why string  `json:"why"`
	Lag HookLag `json:"lag"`
	// Last is the last answer, null before the first one.
	Last *HookAnswer `json:"last"`
	// NextAt is the time of the next attempt for a failed message.
	NextAt *string `json:"next_at"`
	// OldSecretUntil is the time until which messages also have a signature by a former
	// secret.
	OldSecretUntil *string `json:"old_secret_until"`
	// Secret is only in the answer to the call that created or rotated it.
	Secret string `json:"secret,omitzero"`
}

// HookLag is the backlog of a hook: the number of entries of the history whose events
// were not sent yet, and the age of the oldest entry.
type HookLag struct {
	Events  int64   `json:"events"`
	Seconds float64 `json:"seconds"`
}

// HookAnswer is the result of an attempt. Status is 0 if there was no answer.
type HookAnswer struct {
	At     string `json:"at"`
	Status int    `json:"status"`
	Error  string `json:"error"`
	MS     int64  `json:"ms"`
}

// HookTest is the result of a test.
type HookTest struct {
	Status int    `json:"status"`
	Error  string `json:"error"`
	MS     int64  `json:"ms"`
}

// ShowHook converts a hook to its response type. secret is "" unless the response
// contains it.
func ShowHook(h *hook.Seen, now time.Time, secret string) Hook {
	shown := Hook{
		ID: h.ID, URL: h.URL, Types: h.Effective(), Pools: listOrNull(h.Pools), Prizes: listOrNull(h.Prizes), State: h.State, Why: h.Status.Why, Secret: secret,
		Lag: HookLag{Events: h.Lag.Events}, NextAt: timeOrNull(h.NextAt), OldSecretUntil: timeOrNull(h.FormerUntil),
	}
	if !h.Lag.Oldest.IsZero() {
		shown.Lag.Seconds = max(0, now.Sub(h.Lag.Oldest).Seconds())
	}
	if a := &h.Last; !a.At.IsZero() {
		shown.Last = &HookAnswer{ShowTime(a.At), a.Status, a.Error, a.Took.Milliseconds()}
	}
	return shown
}

func listOrNull(list []string) *[]string {
	if list == nil {
		return nil
	}
	return &list
}

func timeOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(ShowTime(t))
}

// NewHook is the body of POST /admin/hooks.
type NewHook struct {
	URL    string         `json:"url"`
	Types  jsontext.Value `json:"types,omitzero"`
	Pools  jsontext.Value `json:"pools,omitzero"`
	Prizes jsontext.Value `json:"prizes,omitzero"`
	From   string         `json:"from,omitzero"`
}

// Read returns the hook that the body describes. Error: CodeInvalidRequest.
func (b *NewHook) Read() (hook.Create, error) {
	w := hook.Create{URL: b.URL, FromStart: b.From == "start"}
	if b.From != "" && b.From != "start" && b.From != "now" {
		return w, draw.Errorf(draw.CodeInvalidRequest, "from must be now or start")
	}
	f, err := readFilter(b.Types, b.Pools, b.Prizes)
	if err != nil {
		return w, err
	}
	if f.types != nil {
		w.Types = *f.types
	}
	if f.pools != nil {
		w.Pools = *f.pools
	}
	if f.prizes != nil {
		w.Prizes = *f.prizes
	}
	return w, w.Check()
}

// filter contains the members of a filter that a body may have.
type filter struct {
	types         *[]hook.Type
	pools, prizes *[]string
}

func readFilter(types, pools, prizes jsontext.Value) (f filter, err error) {
	if f.types, err = readIDs[hook.Type]("types", types); err != nil {
		return f, err
	}
	if f.pools, err = readIDs[string]("pools", pools); err != nil {
		return f, err
	}
	f.prizes, err = readIDs[string]("prizes", prizes)
	return f, err
}

// readIDs reads a list of texts. It returns nil if the list is absent. For null it
// returns a pointer to a nil list.
func readIDs[T ~string](name string, value jsontext.Value) (*[]T, error) {
	if len(value) == 0 {
		return nil, nil
	}
	list := new([]T)
	if value.Kind() == 'n' {
		return list, nil
	}
	if value.Kind() != '[' || json.Unmarshal(value, list) != nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "%s must be a list of texts, or null", name)
	}
	return list, nil
}

// HookChange is the body of PATCH /admin/hooks/{hook}.
type HookChange struct {
	URL    *string        `json:"url,omitzero"`
	Types  jsontext.Value `json:"types,omitzero"`
	Pools  jsontext.Value `json:"pools,omitzero"`
	Prizes jsontext.Value `json:"prizes,omitzero"`
	State  *string        `json:"state,omitzero"`
}

// Read returns the change that the body describes. Error: CodeInvalidRequest.
func (b *HookChange) Read() (hook.Change, error) {
	c := hook.Change{URL: b.URL}
	f, err := readFilter(b.Types, b.Pools, b.Prizes)
	if err != nil {
		return c, err
	}
	c.Types, c.Pools, c.Prizes = f.types, f.pools, f.prizes
	if b.State != nil {
		if *b.State != string(hook.StateOn) && *b.State != string(hook.StateOff) {
			return c, draw.Errorf(draw.CodeInvalidRequest, "state must be on or off")
		}
		c.IsOff = new(*b.State == string(hook.StateOff))
	}
	var wanted hook.Hook
	wanted = wanted.Changed(&c)
	if err := wanted.Filter.Check(); err != nil {
		return c, err
	}
	return c, c.Check()
}

// HookSkip is the body of POST /admin/hooks/{hook}/skip.
type HookSkip struct {
	Pool string `json:"pool"`
}

// HookReplay is the body of POST /admin/hooks/{hook}/replay. Events after a version and
// after a step are sent again.
type HookReplay struct {
	Pool string `json:"pool"`
	// After has no default: 0 sends all events of the pool again.
	After     *int64 `json:"after"`
	AfterStep int64  `json:"after_step,omitzero"`
}

func hookPath(parts ...string) string { return pathOf(append([]string{"admin", "hooks"}, parts...)...) }

// Hooks returns all hooks, the oldest first.
func (c *Client) Hooks(ctx context.Context) ([]Hook, error) {
	found, err := see[Hooks](ctx, c, hookPath())
	return found.Hooks, err
}

// Hook returns a hook. Error: CodeHookNotFound.
func (c *Client) Hook(ctx context.Context, id string) (Hook, error) {
	return see[Hook](ctx, c, hookPath(id))
}

// CreateHook creates a hook, and returns it with its secret. Errors: CodeInvalidRequest,
// CodeSealKeyMissing.
func (c *Client) CreateHook(ctx context.Context, w *NewHook) (Hook, error) {
	return send[Hook](ctx, c, newCall(http.MethodPost, hookPath()), w)
}

// ChangeHook changes a hook. Errors: CodeInvalidRequest, CodeHookNotFound.
func (c *Client) ChangeHook(ctx context.Context, id string, change *HookChange) (Hook, error) {
	return send[Hook](ctx, c, newCall(http.MethodPatch, hookPath(id)), change)
}

// RemoveHook removes a hook. Error: CodeHookNotFound.
func (c *Client) RemoveHook(ctx context.Context, id string) error {
	_, err := c.caller.Do(ctx, newCall(http.MethodDelete, hookPath(id)))
	return err
}

// TestHook sends a test. Errors: CodeHookNotFound, CodeSealKeyMissing.
func (c *Client) TestHook(ctx context.Context, id string) (HookTest, error) {
	return fetch[HookTest](ctx, c, newCall(http.MethodPost, hookPath(id, "test")))
}

// RotateHook gives a hook a new secret, and returns the hook with it. Errors:
// CodeHookNotFound, CodeSealKeyMissing.
func (c *Client) RotateHook(ctx context.Context, id string) (Hook, error) {
	return fetch[Hook](ctx, c, newCall(http.MethodPost, hookPath(id, "rotate")))
}

// RetryHook makes all failed messages of a hook due now. Error: CodeHookNotFound.
func (c *Client) RetryHook(ctx context.Context, id string) (Hook, error) {
	return fetch[Hook](ctx, c, newCall(http.MethodPost, hookPath(id, "retry")))
}

// SkipHook skips the failed message of a pool. Errors: CodeHookNotFound,
// CodePoolNotFound.
func (c *Client) SkipHook(ctx context.Context, id string, skip *HookSkip) (Hook, error) {
	return send[Hook](ctx, c, newCall(http.MethodPost, hookPath(id, "skip")), skip)
}

// ReplayHook sends a pool's events again. Errors: CodeInvalidRequest, CodeHookNotFound,
// CodePoolNotFound.
func (c *Client) ReplayHook(ctx context.Context, id string, replay *HookReplay) (Hook, error) {
	return send[Hook](ctx, c, newCall(http.MethodPost, hookPath(id, "replay")), replay)
}
