package stocktest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/hook"
	"drawsvc/internal/job"
	"drawsvc/internal/stock"
)

// Received is an event that a Receiver has received.
type Received struct {
	ID, Type, Prize, Draw, User, Reference string
	Version, Step, Award, Returned         int64
	Remaining                              *int64
	ClaimUntil                             *time.Time `json:"claim_until"`
}

// Receiver receives the messages of hooks, and verifies them.
type Receiver struct {
	URL string

	mu       sync.Mutex
	answer   int
	secrets  []string
	events   map[string][]Received
	messages []string
	bad      []string
}

// NewReceiver starts a receiver that answers with 200.
func NewReceiver(tb testing.TB) *Receiver {
	tb.Helper()
	r := &Receiver{answer: http.StatusOK, events: map[string][]Received{}}
	server := httptest.NewServer(r)
	tb.Cleanup(server.Close)
	r.URL = server.URL + "/in"
	return r
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	var said struct {
		Type string
		Data struct {
			Pool   string
			Events []Received
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, secret := range r.secrets {
		verifier, err := standardwebhooks.NewWebhook(secret)
		if err == nil {
			err = verifier.Verify(body, q.Header)
		}
		if err != nil {
			r.bad = append(r.bad, err.Error())
		}
	}
	if err := json.Unmarshal(body, &said); err != nil {
		r.bad = append(r.bad, err.Error())
	}
	r.messages = append(r.messages, q.Header.Get("webhook-id"))
	r.events[said.Data.Pool] = append(r.events[said.Data.Pool], said.Data.Events...)
	w.WriteHeader(r.answer)
}

// Set makes the receiver answer with a status, and verify messages with the given
// secrets.
func (r *Receiver) Set(status int, secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer, r.secrets = status, secrets
}

// Of returns the events of a pool, including repeated ones, the ids of all messages, and
// the faults that it found in messages.
func (r *Receiver) Of(pool string) (events []Received, messages, bad []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events[pool]), slices.Clone(r.messages), slices.Clone(r.bad)
}

type noObserver struct{}

// Attempted implements hook.Observer.
func (noObserver) Attempted(string, *hook.Answer) {}

// StartRelay runs a relay of a store until stop is called. feed is the store, or a broken
// double of the store.
func StartRelay(tb testing.TB, s *stock.Store, feed hook.Feed) (stop func()) {
	tb.Helper()
	dialer := hook.NewDialer([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	relay := &hook.Relay{
		Feed: feed, Sender: hook.NewSender(dialer, "test"), Observer: noObserver{}, Log: slog.New(slog.DiscardHandler), Now: s.Now, HasHooks: s.HasHooks,
	}
	ctx, cancel := context.WithCancel(tb.Context())
	var ended sync.WaitGroup
	ended.Go(func() {
		for ctx.Err() == nil {
			_, _ = relay.Job().Do(ctx, job.Run{})
			time.Sleep(10 * time.Millisecond)
		}
	})
	return func() { cancel(); ended.Wait() }
}

// createHook creates a hook for events of some types; nil means the usual types.
func createHook(tb testing.TB, s *stock.Store, url string, fromStart bool, types ...hook.Type) hook.Hook {
	tb.Helper()
	made, err := s.CreateHook(tb.Context(), hook.Create{URL: url, Filter: hook.Filter{Types: types}, FromStart: fromStart})
	require.NoError(tb, err)
	return made
}

// take draws one unit of prize a for each name.
func take(tb testing.TB, s *stock.Store, poolID string, names ...string) {
	tb.Helper()
	p, err := s.Pool(tb.Context(), poolID)
	require.NoError(tb, err)
	require.NoError(tb, Write(tb, s, stock.TxOptions{}, Plan(poolID, p.Version, "a", p.Prizes[0].Issued, names...)))
}

func typesOf(events []Received) (types []string) {
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}

const received = 20 * time.Second

// JudgeSending reports which events of three awards do not arrive at a receiver that
// fails at first.
func JudgeSending(t *testing.T, s *stock.Store, feed hook.Feed) (faults []string) {
	t.Helper()
	UseSealKeys(t, s, "k1")
	r := NewReceiver(t)
	r.Set(http.StatusInternalServerError)
	Pool(t, s, "spring", 9)
	made := createHook(t, s, r.URL, true, hook.TypeWon)
	take(t, s, "spring", "d1", "d2")
	stop := StartRelay(t, s, feed)
	defer func() { stop() }()
	require.Eventually(t, func() bool { _, messages, _ := r.Of("spring"); return len(messages) > 0 }, received, 10*time.Millisecond)
	time.Sleep(100 * time.Millisecond) // until the database has the failure
	r.Set(http.StatusOK)
	r.Clear()
	require.NoError(t, s.RetryHook(t.Context(), made.ID))
	take(t, s, "spring", "d3")
	for range 300 {
		if len(firsts(r, "spring")) == 3 {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return []string{"not all events arrived"}
}

// Clear removes the received messages.
func (r *Receiver) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events, r.messages = map[string][]Received{}, nil
}

// JudgeForks reports a fault if a relay continues although the history before its cursor
// has changed.
func JudgeForks(t *testing.T, s *stock.Store, feed hook.Feed) (faults []string) {
	t.Helper()
	UseSealKeys(t, s, "k1")
	r := NewReceiver(t)
	Pool(t, s, "spring", 9)
	made := createHook(t, s, r.URL, true, hook.TypeWon)
	before := Keep(t, s, "spring")
	take(t, s, "spring", "d1", "d2")
	stop := StartRelay(t, s, feed)
	require.Eventually(t, func() bool {
		seen, _, err := s.ReadHook(t.Context(), made.ID)
		return err == nil && seen.Lag.Events == 0
	}, received, 10*time.Millisecond)
	stop()
	before.PutBack(t, s)
	take(t, s, "spring", "e1", "e2", "e3")
	defer StartRelay(t, s, feed)()
	for range 300 {
		seen, _, err := s.ReadHook(t.Context(), made.ID)
		require.NoError(t, err)
		if seen.State == hook.StateForked {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return []string{"the other history was passed over"}
}

// testHooks: hooks are created, changed, rotated and removed; their secrets are sealed.
func testHooks(t *testing.T, s *stock.Store) {
	UseSealKeys(t, s)
	_, err := s.CreateHook(t.Context(), hook.Create{URL: "https://example.com/in"})
	require.Equal(t, draw.CodeSealKeyMissing, draw.CodeOf(err))
	UseSealKeys(t, s, "k1")
	Pool(t, s, "spring", 5)
	made := createHook(t, s, "https://example.com/in", false)
	require.Len(t, made.Secret, 32)
	_, err = s.CreateHook(t.Context(), hook.Create{URL: "https://example.com/in"})
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "two hooks of one url and like filters")
	seen, _, err := s.ReadHook(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, hook.StateOn, seen.State)
	require.Zero(t, seen.Lag.Events, "it begins at the head of the pool")
	require.Empty(t, seen.Secret)

	take(t, s, "spring", "d1", "d2")
	seen, now, err := s.ReadHook(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, int64(2), seen.Lag.Events)
	require.WithinDuration(t, now, seen.Lag.Oldest, time.Minute)

	off, url := true, "https://example.org/in"
	changed, err := s.ChangeHook(t.Context(), made.ID, hook.Change{IsOff: &off, URL: &url, Types: &[]hook.Type{hook.TypeWon}})
	require.NoError(t, err)
	require.Equal(t, hook.WhyOperator, changed.Why)
	require.False(t, s.HasHooks(t.Context()))
	once, err := s.RotateHook(t.Context(), made.ID)
	require.NoError(t, err)
	rotated, err := s.RotateHook(t.Context(), made.ID)
	require.NoError(t, err)
	UseSealKeys(t, s, "k2", "k1")
	require.NoError(t, s.ResealHooks(t.Context()))
	UseSealKeys(t, s, "k2")
	opened, err := s.OpenHook(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, rotated.Secret, opened.Secret)
	former := []hook.Former{{Secret: once.Secret, Until: rotated.FormerUntil}, {Secret: made.Secret, Until: once.FormerUntil}}
	require.Equal(t, showFormer(former), showFormer(opened.Former))
	require.True(t, once.FormerUntil.Before(rotated.FormerUntil))
	for range hook.FormerMax {
		rotated, err = s.RotateHook(t.Context(), made.ID)
		require.NoError(t, err)
	}
	opened, err = s.OpenHook(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, showFormer(rotated.Former), showFormer(opened.Former))
	require.Len(t, opened.Former, hook.FormerMax)
	require.Equal(t, url, opened.URL)
	UseSealKeys(t, s, "k3")
	away, err := s.HooksAway(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{made.ID}, away)
	rotated, err = s.RotateHook(t.Context(), made.ID)
	require.NoError(t, err, "a hook whose key is lost gets a new secret")
	opened, err = s.OpenHook(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, rotated.Secret, opened.Secret)
	require.Empty(t, opened.Former, "nobody can sign with a lost secret")

	require.NoError(t, s.RemoveHook(t.Context(), made.ID))
	_, err = s.OpenHook(t.Context(), made.ID)
	require.Equal(t, draw.CodeHookNotFound, draw.CodeOf(err))
	UseSealKeys(t, s, "k1")
	for i := range hook.HooksMax {
		createHook(t, s, "https://example.com/"+string(rune('a'+i)), true)
	}
	_, err = s.CreateHook(t.Context(), hook.Create{URL: "https://example.com/more"})
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err))
	require.NoError(t, s.DeletePool(t.Context(), emptyPool(t, s), nil, "test"))
}

// showFormer returns former secrets with their times as texts, which are equal in all zones.
func showFormer(all []hook.Former) (shown []string) {
	for _, f := range all {
		shown = append(shown, fmt.Sprintf("%x until %d", f.Secret, f.Until.UnixMicro()))
	}
	return shown
}

// emptyPool creates a pool that never issues.
func emptyPool(tb testing.TB, s *stock.Store) string {
	tb.Helper()
	Pool(tb, s, "never", 1)
	return "never"
}

// testHooksSend: every event of the history arrives in order, even if the receiver fails
// for a while, or if another relay continues after one has stopped.
func testHooksSend(t *testing.T, s *stock.Store) {
	UseSealKeys(t, s, "k1")
	r := NewReceiver(t)
	Pool(t, s, "spring", 4, 1)
	made := createHook(t, s, r.URL, true)
	r.Set(http.StatusInternalServerError, hook.ShowSecret(made.Secret))
	low, err := rules.Parse([]byte(`{"low":[{"prize":"a","below":3}]}`))
	require.NoError(t, err)
	_, err = s.SetRules(t.Context(), "spring", low, nil, "test")
	require.NoError(t, err)
	stop := StartRelay(t, s, s)
	require.Eventually(t, func() bool {
		seen, _, err := s.ReadHook(t.Context(), made.ID)
		return err == nil && seen.State == hook.StateFailing && seen.Last.Status == 500 && !seen.NextAt.IsZero()
	}, received, 10*time.Millisecond)
	stop()

	rotated, err := s.RotateHook(t.Context(), made.ID)
	require.NoError(t, err)
	r.Set(http.StatusNoContent, hook.ShowSecret(made.Secret), hook.ShowSecret(rotated.Secret))
	require.NoError(t, s.RetryHook(t.Context(), made.ID))
	defer StartRelay(t, s, s)()
	defer StartRelay(t, s, s)()
	take(t, s, "spring", "d1", "d2", "d3", "d4")
	ChangeState(t, s, "spring", draw.StateClosed, nil)
	want := []string{"pool.opened", "award.won", "award.won", "prize.low", "award.won", "award.won", "prize.empty", "pool.closed"}
	var events []Received
	require.Eventually(t, func() bool {
		events = firsts(r, "spring")
		return len(events) >= len(want)
	}, received, 10*time.Millisecond)
	require.Equal(t, want, typesOf(events))
	require.Equal(t, int64(2), *events[3].Remaining)
	_, messages, bad := r.Of("spring")
	require.Empty(t, bad)
	require.Equal(t, messages[0], messages[1], "a message has one id, whoever sends it")
	require.Eventually(t, func() bool {
		seen, _, err := s.ReadHook(t.Context(), made.ID)
		return err == nil && seen.State == hook.StateOn && seen.Lag.Events == 0
	}, received, 10*time.Millisecond)
	NoViolations(t, s, "spring")
}

// firsts returns the events of a pool without repeated ones.
func firsts(r *Receiver, pool string) (events []Received) {
	all, _, _ := r.Of(pool)
	for _, e := range all {
		if !slices.ContainsFunc(events, func(f Received) bool { return f.ID == e.ID }) {
			events = append(events, e)
		}
	}
	return events
}

// testHooksFork: a relay does not continue if the history before its cursor has changed.
func testHooksFork(t *testing.T, s *stock.Store) {
	UseSealKeys(t, s, "k1")
	r := NewReceiver(t)
	Pool(t, s, "spring", 9)
	made := createHook(t, s, r.URL, true, hook.TypeWon)
	before := Keep(t, s, "spring")
	take(t, s, "spring", "d1", "d2")
	defer StartRelay(t, s, s)()
	require.Eventually(t, func() bool { return len(firsts(r, "spring")) == 2 }, received, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		seen, _, err := s.ReadHook(t.Context(), made.ID)
		return err == nil && seen.Lag.Events == 0
	}, received, 10*time.Millisecond)
	first := firsts(r, "spring")

	before.PutBack(t, s)
	found, err := s.Audit(t.Context(), "spring")
	require.NoError(t, err)
	require.Equal(t, "hook-ahead", found.Violations[0].Rule)
	take(t, s, "spring", "e1", "e2", "e3")
	require.Eventually(t, func() bool {
		seen, _, err := s.ReadHook(t.Context(), made.ID)
		return err == nil && seen.State == hook.StateForked
	}, received, 10*time.Millisecond)
	require.Len(t, firsts(r, "spring"), 2)
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(s.ReplayHook(t.Context(), made.ID, "spring", hook.Place{Version: 1000})))
	require.NoError(t, s.ReplayHook(t.Context(), made.ID, "spring", hook.Place{}))
	require.Eventually(t, func() bool { return len(firsts(r, "spring")) == 5 }, received, 10*time.Millisecond)
	again := firsts(r, "spring")[2:]
	for i := range again {
		require.False(t, slices.ContainsFunc(first, func(f Received) bool { return f.ID == again[i].ID }), "another history has other ids")
	}
}

// testHooksEnd: an answer of 410 turns the hook off, a stuck message can be skipped, and
// neither delays another hook.
func testHooksEnd(t *testing.T, s *stock.Store) {
	UseSealKeys(t, s, "k1")
	quit, stuck, good := NewReceiver(t), NewReceiver(t), NewReceiver(t)
	quit.Set(http.StatusGone)
	stuck.Set(http.StatusFound)
	Pool(t, s, "spring", 9)
	goneHook, stuckHook := createHook(t, s, quit.URL, true), createHook(t, s, stuck.URL, true)
	createHook(t, s, good.URL, true, hook.TypeWon)
	defer StartRelay(t, s, s)()
	take(t, s, "spring", "d1")
	require.Eventually(t, func() bool { return len(firsts(good, "spring")) == 1 }, received, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		seen, _, err := s.ReadHook(t.Context(), goneHook.ID)
		return err == nil && seen.State == hook.StateOff && seen.Status.Why == string(hook.WhyGone)
	}, received, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		seen, _, err := s.ReadHook(t.Context(), stuckHook.ID)
		return err == nil && seen.State == hook.StateFailing
	}, received, 10*time.Millisecond)
	before, after, err := s.SkipHook(t.Context(), stuckHook.ID, "spring")
	require.NoError(t, err)
	require.Less(t, before.Version, after.Version)
	on := false
	_, err = s.ChangeHook(t.Context(), goneHook.ID, hook.Change{IsOff: &on})
	require.NoError(t, err)
	quit.Set(http.StatusOK)
	var messages []string
	require.Eventually(t, func() bool {
		_, messages, _ = quit.Of("spring")
		return len(messages) > 1
	}, received, 10*time.Millisecond)
	require.Equal(t, messages[0], messages[1], "a message keeps its id while its hook is off")
	require.Eventually(t, func() bool {
		seen, _, err := s.ReadHook(t.Context(), goneHook.ID)
		return err == nil && seen.State == hook.StateOn
	}, received, 10*time.Millisecond)
}
