package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	caller "drawsvc/client"
	"drawsvc/internal/http/contract"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

const maxPause = 100 * time.Millisecond

// Through returns a client that connects by dialer; its exchanges are checked against
// openapi.yaml.
func (t *Trial) Through(dialer *net.Dialer) *http.Client {
	own := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 256, DisableCompression: true}
	return &http.Client{Transport: t.judged(own)}
}

// judged returns a transport that checks every exchange with an instance.
func (t *Trial) judged(next http.RoundTripper) http.RoundTripper {
	return &contract.Transport{Next: next, Judge: func(x contract.Exchange) {
		isOurs := func(i *stage.Instance) bool { return i.Address == x.Request.Host }
		switch isFront := t.Front == "http://"+x.Request.Host; {
		case isFront:
			x.Header = x.Header.Clone()
			x.Header.Del("Server") // every proxy puts its own name there
		case !slices.ContainsFunc(t.Instances, isOurs):
			return // the exchange is with a lock service or a Prometheus
		}
		if t.kinds == nil || t.Program == stage.Textbook {
			return // the textbook's programs have no OpenAPI description
		}
		if err := t.kinds.Check(x); err != nil {
			t.Verdict.Say(history.Undocumented, "%v", err)
		}
	}}
}

// Send makes one request and records it with its answer. It never retries, like a
// caller who gives up after any answer.
func (t *Trial) Send(ctx context.Context, o history.Op) history.Op {
	loop, end := context.WithCancel(ctx)
	defer end()
	s := t.sender(ctx, o)
	s.sent = end
	return s.call(loop)
}

// Insist retries a request until it is settled or ctx ends, as package drawsvc/client
// does for every caller. Each request is recorded. It returns the last request, and the
// number of requests. The end of ctx does not cancel a request that was sent.
func (t *Trial) Insist(ctx context.Context, o history.Op) (history.Op, int) {
	s := t.sender(t.Ctx, o)
	last := s.call(ctx)
	for o.Kind == history.Stock && !last.Won() && !last.Refused() && ctx.Err() == nil { // for moves, the client itself does not wait for a server that cannot be reached
		t.Wait(rand.N(maxPause))
		last = s.call(ctx)
	}
	return last, s.requests
}

// sender sends one operation. Package drawsvc/client decides when, and the history gets
// each of its requests.
type sender struct {
	t    *Trial
	ctx  context.Context // of each request
	asks history.Op
	// last is the last request; requests counts them all.
	last     history.Op
	requests int
	// sent is called after each request; it may be nil.
	sent func()
}

func (t *Trial) sender(ctx context.Context, o history.Op) *sender {
	return &sender{t: t, ctx: ctx, asks: o}
}

// call makes the operation until it is settled or ctx ends.
func (s *sender) call(ctx context.Context) history.Op {
	before := s.requests
	c := &caller.Client{URL: cmp.Or(s.t.Front, s.t.Instances[s.asks.Instance].URL()), HTTP: &http.Client{Transport: s}}
	err := s.make(ctx, c)
	if s.requests == before { // it could not even be written as a request
		s.last = s.asks
		s.last.Call, s.last.Err = s.t.History.Now(), fmt.Sprint(err)
		s.last.Return = s.last.Call
		s.t.History.Add(s.last)
	}
	return s.last
}

func (s *sender) make(ctx context.Context, c *caller.Client) error {
	o := &s.asks
	if o.Kind == history.Stock {
		body, err := json.Marshal(map[string]any{"delta": o.Delta, "reason": "load"})
		if err == nil {
			path := "/admin/pools/" + o.Pool + "/prizes/" + o.Prize + "/stock"
			_, err = c.Do(ctx, caller.Call{Method: http.MethodPost, Path: path, Key: o.Key, ContentType: "application/json", Body: body})
		}
		return err
	}
	r := caller.Request{Pool: o.Pool, User: o.User, Key: o.Key, Count: o.Count}
	if s.t.Ticket != nil {
		r.Ticket = s.t.Ticket(o)
	}
	_, err := c.Draw(ctx, r)
	return err
}

// RoundTrip implements http.RoundTripper: it makes one request and records it with its
// answer. The recorded time is that of the request, not of the whole call.
func (s *sender) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.t.Limit()+Patience)
	defer cancel()
	o := s.asks
	request = request.Clone(ctx)
	request.Header.Set("Authorization", "Bearer "+s.t.tokenFor(&o)) // the token may have been replaced in the meantime
	o.Call = s.t.History.Now()
	response, err := s.t.exchange(request, &o)
	o.Return = s.t.History.Now()
	s.t.History.Add(o)
	s.last = o
	s.requests++
	if s.sent != nil {
		s.sent()
	}
	return response, err
}

// exchange makes one request, fills in the operation's answer and judges it. The body
// can be read only once, so that net/http does not retry by itself, as it does for
// requests with keys.
func (t *Trial) exchange(request *http.Request, o *history.Op) (*http.Response, error) {
	sent, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body, request.GetBody = io.NopCloser(bytes.NewReader(sent)), nil
	response, err := cmp.Or(t.Client.Transport, http.DefaultTransport).RoundTrip(request)
	if err != nil {
		failed, ok := errors.AsType[*net.OpError](err)
		o.Sent, o.Err = !(ok && failed.Op == "dial"), err.Error()
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	o.Sent = true
	body, err := io.ReadAll(response.Body)
	if err != nil {
		o.Err = err.Error() // the status has arrived, but the answer has not
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	o.Status = response.StatusCode
	var a Answer
	if err := json.Unmarshal(body, &a); err != nil {
		o.Wrong = fmt.Sprintf("not JSON: %.200q", body)
	}
	o.Code, o.Outcome, o.Detail, o.Replayed, o.Awards = a.Code, a.Outcome, a.Detail, a.Replayed, a.Awards
	o.Version, o.Stocked, o.Issued, o.Receipt = a.Version, a.Stocked, a.Issued, a.Receipt
	if t.Program != stage.Textbook && o.Wrong == "" {
		o.Wrong = wrong(o, response, &a)
	}
	return response, nil
}

func (t *Trial) tokenFor(o *history.Op) string {
	if o.Kind == history.Stock {
		return harness.AdminToken
	}
	if token := t.presents.Load(); token != nil {
		return *token
	}
	return harness.DrawToken
}

// Patience is how long a client still waits for an answer after the timeout of the
// answer.
const Patience = 3 * time.Second

// Answer has the members of every answer to a draw or a move.
type Answer struct {
	Draw     string          `json:"draw"`
	Pool     string          `json:"pool"`
	User     string          `json:"user"`
	Replayed bool            `json:"replayed"`
	Awards   []history.Award `json:"awards"`
	Receipt  json.RawMessage `json:"receipt"`
	Version  int64           `json:"version"`
	Stocked  int64           `json:"stocked"`
	Issued   int64           `json:"issued"`

	Type    string `json:"type"`
	Status  int    `json:"status"`
	Detail  string `json:"detail"`
	Code    string `json:"code"`
	Outcome string `json:"outcome"`
}

// Present sets the token that draws are sent with from now on.
func (t *Trial) Present(token string) { t.presents.Store(&token) }

// wrong describes what is wrong with the form of an answer, "" for nothing.
func wrong(o *history.Op, response *http.Response, a *Answer) string {
	h := response.Header
	if o.Won() {
		switch {
		case o.Kind == history.Draw && (a.Draw != o.Key || a.Pool != o.Pool || a.User != o.User || len(a.Awards) != o.Count):
			return fmt.Sprintf("it answers another draw: %+v", a)
		case a.Replayed != (h.Get("Idempotent-Replayed") == "true"):
			return "body and header differ on whether it is a replay"
		}
		return ""
	}
	switch {
	case h.Get("Content-Type") != "application/problem+json":
		return "the problem is of type " + h.Get("Content-Type")
	case a.Status != response.StatusCode || a.Type != "/problems/"+a.Code:
		return fmt.Sprintf("the problem contradicts itself: %+v", a)
	case (response.StatusCode == http.StatusServiceUnavailable) != (h.Get("Retry-After") != ""):
		return fmt.Sprintf("Retry-After is %q", h.Get("Retry-After"))
	case leaks(a.Detail):
		return "the detail tells too much: " + a.Detail
	}
	return ""
}

// leaks searches a text for secrets that no caller may read.
func leaks(detail string) bool {
	for _, word := range []string{"127.0.0.1", "SELECT", "UPDATE", "goroutine", "SQLSTATE", "dial tcp", "pq:", stage.ServicePassword} {
		if strings.Contains(detail, word) {
			return true
		}
	}
	return false
}
