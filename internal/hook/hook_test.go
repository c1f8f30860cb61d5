package hook

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// judgeSigner returns the faults of a function that signs messages. A signature must
// verify under each secret. With another body, id or time it must not verify.
func judgeSigner(t *testing.T, set func(h http.Header, id string, at time.Time, body []byte, secrets ...[]byte) error) (faults []string) {
	t.Helper()
	now, secrets := time.Now(), [][]byte{NewSecret(), NewSecret()}
	body := []byte(`{"type":"pool.events", "data":{}}`)
	h := http.Header{}
	require.NoError(t, set(h, "msg_1", now, body, secrets...))
	for i, secret := range secrets {
		verifier, err := standardwebhooks.NewWebhook(ShowSecret(secret))
		require.NoError(t, err)
		if verifier.Verify(body, h) != nil {
			faults = append(faults, "secret "+strconv.Itoa(i+1)+" does not verify")
		}
		changed := h.Clone()
		changed.Set("webhook-id", "msg_2")
		if verifier.Verify(append([]byte(" "), body...), h) == nil || verifier.Verify(body, changed) == nil {
			faults = append(faults, "a changed message verifies")
		}
		require.NoError(t, set(changed, "msg_1", now.Add(-time.Hour), body, secrets...))
		if verifier.Verify(body, changed) == nil {
			faults = append(faults, "an old message verifies")
		}
	}
	return faults
}

// TestMessagesVerify: the library of Standard Webhooks verifies messages, under both
// secrets of a rotation.
func TestMessagesVerify(t *testing.T) {
	t.Parallel()
	require.Empty(t, judgeSigner(t, SetHeaders))
}

// TestFormerSecretsSignForADay: after a second rotation the former secrets still sign.
// Their number is bounded.
func TestFormerSecretsSignForADay(t *testing.T) {
	t.Parallel()
	first, now := NewSecret(), time.Now()
	once := Hook{Secret: first}.Rotated(now)
	twice := once.Rotated(now.Add(time.Hour))
	require.Equal(t, [][]byte{twice.Secret, once.Secret, first}, twice.secrets(now.Add(RotationMax-1)))
	require.Equal(t, [][]byte{twice.Secret, once.Secret}, twice.secrets(now.Add(RotationMax)))
	require.Equal(t, [][]byte{twice.Secret}, twice.secrets(now.Add(time.Hour+RotationMax)))
	require.Len(t, twice.Rotated(now.Add(RotationMax)).Former, 2, "the first one has ended")
	for range 2 * FormerMax {
		twice = twice.Rotated(now.Add(time.Hour))
	}
	require.Len(t, twice.Former, FormerMax)
}

// TestMessagesVerifyCatches: the test detects signers that remove blanks of the body, use
// only one secret, or sign the time of the call.
func TestMessagesVerifyCatches(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, judgeSigner(t, func(h http.Header, id string, at time.Time, body []byte, secrets ...[]byte) error {
		return SetHeaders(h, id, at, []byte(strings.ReplaceAll(string(body), " ", "")), secrets...)
	}))
	require.NotEmpty(t, judgeSigner(t, func(h http.Header, id string, at time.Time, body []byte, secrets ...[]byte) error {
		return SetHeaders(h, id, at, body, secrets[0])
	}))
	require.NotEmpty(t, judgeSigner(t, func(h http.Header, id string, _ time.Time, body []byte, secrets ...[]byte) error {
		return SetHeaders(h, id, time.Now(), body, secrets...)
	}))
}

// TestInnerAddressesAreNotDialled: every dialled address is checked, whatever name,
// form or redirect leads to it, and a proxy from the environment is not used.
func TestInnerAddressesAreNotDialled(t *testing.T) {
	var reached atomic.Int64
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		w.WriteHeader(http.StatusOK)
	}))
	defer inner.Close()
	_, port, err := net.SplitHostPort(inner.Listener.Addr().String())
	require.NoError(t, err)
	t.Setenv("HTTP_PROXY", inner.URL)
	t.Setenv("HTTPS_PROXY", inner.URL)
	strict := NewSender(NewDialer(nil), "test")
	defer strict.Close()
	for _, host := range []string{"127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "169.254.169.254", "0x7f000001", "127.1", "localhost", "0.0.0.0", "[fe80::1%25lo]"} {
		for _, scheme := range []string{"http://", "https://"} {
			h := &Hook{ID: "h", URL: scheme + host + ":" + port + "/", Secret: NewSecret()}
			a := strict.Test(t.Context(), h, time.Now())
			require.False(t, a.IsAccepted(), h.URL)
			require.NotEmpty(t, a.Error, h.URL)
		}
	}
	require.Zero(t, reached.Load())
	require.Equal(t, "address refused", strict.Test(t.Context(), &Hook{URL: "https://localhost:" + port + "/", Secret: NewSecret()}, time.Now()).Error)

	// The broken double checks only the URL, which a name or a redirect circumvents.
	loose := &http.Client{}
	response, err := loose.Get("http://localhost:" + port + "/")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, int64(1), reached.Load())
}

// TestRedirectsAreNotFollowed: not even redirects between allowed addresses are
// followed, and the answer's body is not shown.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer target.Close()
	redirects := httptest.NewServer(http.RedirectHandler(target.URL, http.StatusFound))
	defer redirects.Close()
	s := NewSender(NewDialer([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), "test")
	defer s.Close()
	a := s.Test(t.Context(), &Hook{URL: redirects.URL, Secret: NewSecret()}, time.Now())
	require.Equal(t, [2]any{302, "status 302"}, [2]any{a.Status, a.Error})
	require.Zero(t, reached.Load())
	require.True(t, func() bool {
		a := s.Test(t.Context(), &Hook{URL: target.URL, Secret: NewSecret()}, time.Now())
		return a.IsAccepted()
	}())
}

// TestURLsOfHooks: a URL that could never be used is refused when the hook is created.
func TestURLsOfHooks(t *testing.T) {
	t.Parallel()
	strict, open := NewDialer(nil), NewDialer([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")})
	for url, want := range map[string][2]bool{
		"https://shop.example/in":      {true, true},
		"https://shop.example:8443/in": {true, true},
		"https://shop.example:65536/":  {false, false},
		"https://shop.example:0/":      {false, false},
		"http://shop.example/in":       {false, true},
		"https://10.1.2.3/":            {false, true},
		"http://10.1.2.3:8080/":        {false, true},
		"https://[::ffff:10.1.2.3]/":   {false, true},
		"https://[fd00::1]/":           {false, true},
		"https://192.168.1.1/":         {false, false},
		"https://8.8.8.8/":             {true, true},
		"http://8.8.8.8/":              {false, false},
		"https://127.1/":               {false, false},
		"https://2130706433/":          {false, false},
		"https://0x7f.0.0.1/":          {false, false},
		"https://u@shop.example/":      {false, false},
		"https://shop.example/#":       {false, false},
		"//shop.example/":              {false, false},
	} {
		require.Equal(t, want[0], strict.CheckURL(url) == nil, url)
		require.Equal(t, want[1], open.CheckURL(url) == nil, url)
	}
}

// TestWaitsOfAMessage: the waits differ from those of the specification by at most 10 %,
// and are not shorter than the receiver requests.
func TestWaitsOfAMessage(t *testing.T) {
	t.Parallel()
	require.Equal(t, 10, AttemptsMax())
	for failed, want := range map[int]time.Duration{1: 5 * time.Second, 2: 5 * time.Minute, 9: 24 * time.Hour} {
		for _, part := range []float64{0, 0.5, 0.99} {
			wait, ok := WaitAfter(failed, 0, part)
			require.True(t, ok)
			require.InDelta(t, want.Seconds(), wait.Seconds(), want.Seconds()/10)
		}
	}
	_, ok := WaitAfter(10, 0, 0.5)
	require.False(t, ok)
	wait, _ := WaitAfter(1, time.Hour, 0.5)
	require.Equal(t, time.Hour, wait)
	now := time.Now()
	header := http.Header{"Retry-After": {"90"}}
	require.Equal(t, 90*time.Second, readRetryAfter(429, header, now))
	require.Zero(t, readRetryAfter(500, header, now))
	header.Set("Retry-After", "999999999")
	require.Equal(t, 24*time.Hour, readRetryAfter(503, header, now))
	header.Set("Retry-After", strings.Repeat("9", 30))
	require.Equal(t, 24*time.Hour, readRetryAfter(503, header, now), "a number too long to read is the maximum")
	header.Set("Retry-After", "-1")
	require.Zero(t, readRetryAfter(503, header, now))
	c, isLast := Cursor{Attempts: 9}.Failed(now, Answer{}, 0.5)
	require.True(t, isLast)
	require.Equal(t, 10, c.Attempts)
}

// eventsOf derives the events of entries of a pool with one prize and the given stock.
func eventsOf(t *testing.T, stock int64, rules *draw.Rules, entries ...draw.Entry) (all []Event) {
	t.Helper()
	d := NewDeriver(&Start{PoolID: "p", Prizes: []draw.Prize{{ID: "a", Name: "A", Stocked: stock}}, Rules: rules})
	for _, e := range entries {
		events, err := d.Derive(context.Background(), e)
		require.NoError(t, err)
		all = append(all, events...)
	}
	return all
}

func awardAt(version, unit int64) draw.Entry {
	return draw.Entry{Award: &draw.Award{Version: version, DrawID: "d" + strconv.FormatInt(version, 10), Ordinal: 1, UserID: "u", PrizeID: "a", Unit: unit, At: time.Unix(version, 0)}}
}

// TestEventIDs: the ids of events never change. In another history they differ.
func TestEventIDs(t *testing.T) {
	t.Parallel()
	first, again := eventsOf(t, 9, nil, awardAt(2, 1)), eventsOf(t, 5, nil, awardAt(2, 1))
	require.Equal(t, string(first[0].Body), string(again[0].Body))
	require.Contains(t, string(first[0].Body), `{"id":"a3`[:7])
	other := awardAt(2, 1)
	other.Award.DrawID = "another"
	require.NotEqual(t, string(first[0].Body)[:42], string(eventsOf(t, 9, nil, other)[0].Body)[:42])
	require.NotEqual(t, EntryID("p", awardAt(2, 1)), EntryID("p", other))
	require.NotEqual(t, EntryID("p", awardAt(2, 1)), EntryID("q", awardAt(2, 1)))
}

// TestMessagesAreBounded: a message has at most 100 events and 20 kB. It contains only
// whole entries, and at least one.
func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	p := Page{}
	var entries []draw.Entry
	for i := range int64(200) {
		entries = append(entries, awardAt(i+1, i+1))
	}
	all := eventsOf(t, 200, nil, entries...)
	for i, e := range entries {
		events := all[i : i+1]
		if i == len(entries)-1 {
			events = all[i:]
		}
		p.Note(Place{Version: e.Version()}, EntryID("p", e), events...)
	}
	require.Equal(t, []Type{TypeWon, TypeEmpty, TypePoolEmpty}, []Type{p.Events[199].Type, p.Events[200].Type, p.Events[201].Type})
	for after := int64(0); after < 200; {
		rest := Page{Events: p.Events[after:], To: p.To, ToID: p.ToID, ids: p.ids}
		events, to, id := Cut(&rest, &Filter{})
		require.LessOrEqual(t, len(events), EventsMax)
		require.LessOrEqual(t, len(Body("p", events, time.Unix(1, 0))), BodyMax)
		require.Greater(t, to.Version, after)
		require.Equal(t, EntryID("p", awardAt(to.Version, to.Version)), id)
		after = to.Version
	}
	events, to, _ := Cut(&p, &Filter{Types: []Type{TypeClosed}})
	require.Empty(t, events)
	require.Equal(t, int64(200), to.Version)
	events, _, _ = Cut(&p, &Filter{Prizes: []string{"b"}})
	require.Len(t, events, 1, "events without a prize pass")
}
