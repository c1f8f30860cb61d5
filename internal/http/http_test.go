package http

import (
	"context"
	"log/slog"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/access"
	"drawsvc/internal/catalogue"
	"drawsvc/internal/draw"
	"drawsvc/internal/hook"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/ticket"
)

const (
	adminToken = "admin-token-of-the-tests"
	drawToken  = "draw-token-of-the-tests"
)

// at is the time of everything in these tests.
var at = time.Date(2026, 3, 4, 5, 6, 7, 890_000, time.FixedZone("CET", 3600))

// fake replaces the service and the store in tests of the wire: it answers with err if
// set, and records its calls.
type fake struct {
	// rulesUnreadable is the result of HasUnreadable.
	rulesUnreadable bool
	// codesAway is the result of HasCodesAway.
	codesAway bool
	// seedsAway is the result of SeedsAway.
	seedsAway bool
	// unsigned is the error of signing a receipt. If proving is not nil, a proof waits
	// until it is closed.
	unsigned error
	// broken, if set, is the error of an export after everything was written.
	broken  error
	proving chan struct{}
	mu      sync.Mutex
	err     error
	asked   []any
	drawn   func(ctx context.Context, r draw.Request) (draw.Draw, error)
	awards  []draw.Award
	// rules are the rules of every pool.
	rules *draw.Rules
	// underWay counts the draws that have begun and not ended.
	underWay int
	draining bool
}

// begin admits a draw, unless the service drains.
func (f *fake) begin() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.draining {
		return draw.Errorf(draw.CodeDraining, "the service is shutting down; nothing happened")
	}
	f.underWay++
	return nil
}

func (f *fake) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.underWay--
}

// drained returns whether new draws are rejected, and how many are under way.
func (f *fake) drained() (draining bool, underWay int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.draining, f.underWay
}

func (f *fake) Drain(ctx context.Context) error {
	f.mu.Lock()
	f.draining = true
	f.mu.Unlock()
	for {
		if _, underWay := f.drained(); underWay == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func (f *fake) note(v any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, v)
	return f.err
}

func (f *fake) last() any {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.asked) == 0 {
		return nil
	}
	return f.asked[len(f.asked)-1]
}

func award(drawID, user string) draw.Award {
	return draw.Award{
		Version: 1234, DrawID: drawID, Ordinal: 1, UserID: user, PrizeID: "gold", PrizeName: "Gold coin",
		Value: decimal.RequireFromString("19.9"), Unit: 17, At: at,
	}
}

func (f *fake) DrawFor(ctx context.Context, _ string, r draw.Request) (draw.Draw, error) {
	if err := f.begin(); err != nil {
		return draw.Draw{}, err
	}
	defer f.end()
	if err := f.note(r); err != nil {
		return draw.Draw{}, err
	}
	if f.drawn != nil {
		return f.drawn(ctx, r)
	}
	return draw.Draw{ID: r.DrawID, PoolID: r.PoolID, UserID: r.UserID, Awards: []draw.Award{award(r.DrawID, r.UserID)}}, nil
}

// fakeStore is a fake as a store. It is a separate type, because the method Draw of a
// store differs from that of the drawer.
type fakeStore struct{ *fake }

func (f fakeStore) Draw(_ context.Context, poolID, drawID string) (draw.Draw, error) {
	d := draw.Draw{ID: drawID, PoolID: poolID, UserID: "u1", Awards: []draw.Award{award(drawID, "u1")}}
	if drawID == "fulfilled" {
		life, err := f.Life(context.Background(), poolID, d.Awards[0].Version)
		d.Lives = []*draw.Life{&life}
		return d, err
	}
	return d, f.note([2]string{poolID, drawID})
}

func somePool(id string) draw.Pool {
	return draw.Pool{ID: id, Name: "Spring", State: draw.StateOpen, Version: 7, Revision: 5, Text: map[string]string{"p": "Each day a coin."}[id], IsFair: id == "p", Prizes: []draw.Prize{
		{ID: "gold", Name: "Gold coin", Value: decimal.RequireFromString("19.9"), Stocked: 10, Issued: 3},
		{ID: "pin", Name: "Pin", Stocked: 5},
	}}
}

// The feed of the fake has the award of the tests, in pool p, and an end after it.
func (f fakeStore) ExtendFeed(context.Context) (int64, error) { return 1, nil }

func (f fakeStore) FeedEnd(context.Context) (draw.FeedCursor, error) { return feedEnd, f.note("end") }

func (f fakeStore) ReadFeed(_ context.Context, wanted draw.FeedQuery) (draw.FeedPage, error) {
	page := draw.FeedPage{Next: feedEnd, IsEnd: true}
	if wanted.After != feedEnd {
		a := award("d1", "u1")
		a.Redirect = &draw.Redirect{Drawn: "gold", Why: draw.WhyLimit}
		page.Awards = []draw.FeedAward{{Award: a, PoolID: "p", Next: feedEnd}}
	}
	return page, f.note(wanted)
}

// feedEnd is the end of the fake's feed.
var feedEnd = draw.FeedCursor{Segment: 1, Version: 1234, Mark: -7, PoolID: "p"}

func (f fakeStore) Money(context.Context, *draw.Pool) (draw.Money, error) { return draw.Money{}, nil }

func (f fakeStore) Pool(_ context.Context, id string) (draw.Pool, error) {
	return somePool(id), f.note(id)
}

// SeedsAway implements Condition.
func (f fakeStore) SeedsAway() bool { return f.seedsAway }

// HasCodesAway implements Condition.
func (f fakeStore) HasCodesAway() bool { return f.codesAway }

// HasUnreadable implements Condition.
func (f fakeStore) HasUnreadable() bool { return f.rulesUnreadable }

// acted is a requested change and its actor.
type acted struct {
	what  any
	actor string
}

func (f fakeStore) Awards(_ context.Context, _ string, after int64, limit int) ([]draw.Award, error) {
	var found []draw.Award
	for _, a := range f.awards {
		if a.Version > after && len(found) < limit {
			found = append(found, a)
		}
	}
	return found, f.note([2]int64{after, int64(limit)})
}

func (f fakeStore) Moves(_ context.Context, _ string, after int64, limit int) ([]draw.Move, error) {
	moves := []draw.Move{{Version: 1, PrizeID: "gold", Delta: 10, Reason: "start", Actor: "admin", At: at, Stocked: 10}}
	return moves, f.note([2]int64{after, int64(limit)})
}

// someLog is a history with an entry of each kind.
func someLog() []draw.Entry {
	won := award("d1", "u1")
	won.Version = 3
	return []draw.Entry{
		{Change: &draw.Change{Version: 1, What: draw.WhatCreated, Body: `{"name":"Spring","state":"open","mode":null}`, Actor: "admin", At: at}},
		{Move: &draw.Move{Version: 2, PrizeID: "gold", Delta: 10, Reason: "created", Actor: "admin", At: at, Stocked: 10}},
		{Award: &won},
	}
}

func (f fakeStore) Log(_ context.Context, _ string, after int64, limit int) ([]draw.Entry, error) {
	entries := someLog()
	entries = entries[min(int(after), len(entries)):]
	return entries[:min(limit, len(entries))], f.note([2]int64{after, int64(limit)})
}

func (f fakeStore) Audit(_ context.Context, id string) (draw.Audit, error) {
	return draw.Audit{PoolID: id, Version: 7, Prizes: []draw.PrizeAudit{
		{PrizeID: "gold", Stocked: 10, Issued: 3, Awards: 3, Remaining: 7},
	}}, f.note(id)
}

// setup changes a Config before a server is created from it.
type setup func(*Config)

func withDrawToken(c *Config) {
	c.Tokens = keep(adminEntry(), access.Token{Name: "draw", Role: access.Draw, Digest: access.DigestOf(drawToken)})
	c.PublicDraw = false
}

func adminEntry() access.Token {
	return access.Token{Name: "admin", Role: access.Admin, Digest: access.DigestOf(adminToken)}
}

func keep(tokens ...access.Token) *access.Keeper {
	set, err := access.NewSet(tokens...)
	if err != nil {
		panic(err)
	}
	return access.NewKeeper(set)
}

func newServer(t testing.TB, f *fake, changes ...setup) *Server {
	t.Helper()
	if f.rules == nil {
		f.rules = someRules(t)
	}
	registry := prometheus.NewRegistry()
	config := Config{
		Access: gate.Access{Tokens: keep(adminEntry()), PublicDraw: true}, Limits: Limits{RequestTimeout: time.Minute},
		Store: fakeStore{f}, Drawer: f, Watcher: fakeStore{f}, Tickets: ticket.NewKeeper(nil), WakeJobs: func() {}, HookSender: noSender{hook.NewSender(hook.NewDialer(nil), "")},
		Catalogue: func() map[string]catalogue.Item { return nil }, Modes: []string{"for-update", "optimistic", "external"},
		Ready: func(context.Context) error { return nil }, Log: slog.New(slog.DiscardHandler), Registerer: registry, Gatherer: registry,
	}
	for _, change := range changes {
		change(&config)
	}
	s, err := New(config)
	require.NoError(t, err)
	judged(t, s)
	return s
}

// request makes a request; headers are given as name, value, name, value.
func request(method, target, body string, headers ...string) *nethttp.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Del(headers[i])
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func asAdmin(method, target, body string, headers ...string) *nethttp.Request {
	return request(method, target, body, append(headers, "Authorization", "Bearer "+adminToken)...)
}

func do(s *Server, r *nethttp.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}
