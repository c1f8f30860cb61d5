package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// Patience is how much longer than an answer may take a client waits for it.
const Patience = 3 * time.Second

func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
}

// Answer is every body that the service may answer a draw or a move with.
type Answer struct {
	Draw     string          `json:"draw"`
	Pool     string          `json:"pool"`
	User     string          `json:"user"`
	Replayed bool            `json:"replayed"`
	Awards   []history.Award `json:"awards"`
	Version  int64           `json:"version"`
	Stocked  int64           `json:"stocked"`
	Issued   int64           `json:"issued"`

	Type    string `json:"type"`
	Status  int    `json:"status"`
	Detail  string `json:"detail"`
	Code    string `json:"code"`
	Outcome string `json:"outcome"`
}

// Send makes one request, once, and writes it down with its answer.
func (t *Trial) Send(ctx context.Context, o history.Op) history.Op {
	ctx, cancel := context.WithTimeout(ctx, t.Limit()+Patience)
	defer cancel()
	o.Call = t.History.Now()
	t.ask(ctx, &o)
	o.Return = t.History.Now()
	t.History.Add(o)
	return o
}

func (t *Trial) ask(ctx context.Context, o *history.Op) {
	request, err := t.request(ctx, o)
	if err != nil {
		o.Err = err.Error()
		return
	}
	response, err := t.Client.Do(request)
	if err != nil {
		failed, ok := errors.AsType[*net.OpError](err)
		o.Sent = !(ok && failed.Op == "dial")
		o.Err = err.Error()
		return
	}
	defer func() { _ = response.Body.Close() }()
	o.Sent = true
	body, err := io.ReadAll(response.Body)
	if err != nil {
		o.Err = err.Error() // the status has come and the answer has not
		return
	}
	var a Answer
	if err := json.Unmarshal(body, &a); err != nil {
		o.Wrong = fmt.Sprintf("not JSON: %.200q", body)
	}
	o.Status, o.Code, o.Outcome, o.Replayed, o.Awards = response.StatusCode, a.Code, a.Outcome, a.Replayed, a.Awards
	o.Version, o.Stocked, o.Issued = a.Version, a.Stocked, a.Issued
	if t.Program != stage.Textbook && o.Wrong == "" {
		o.Wrong = wrong(o, response, &a)
	}
}

// Present has draws sent with another token from now on.
func (t *Trial) Present(token string) { t.presents.Store(&token) }

func (t *Trial) drawToken() string {
	if token := t.presents.Load(); token != nil {
		return *token
	}
	return harness.DrawToken
}

// request writes the operation as HTTP. Its body cannot be read twice, so that
// net/http does not send it again by itself, as it does with keys.
func (t *Trial) request(ctx context.Context, o *history.Op) (*http.Request, error) {
	path, token := "/draw", t.drawToken()
	content := map[string]any{"pool": o.Pool, "user": o.User, "count": o.Count}
	if o.Kind == history.Stock {
		path, token = "/admin/pools/"+o.Pool+"/prizes/"+o.Prize+"/stock", harness.AdminToken
		content = map[string]any{"delta": o.Delta, "reason": "load"}
	}
	if t.Ticket != nil && o.Kind == history.Draw {
		if ticket := t.Ticket(o); ticket != "" {
			content["ticket"] = ticket
		}
	}
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, cmp.Or(t.Front, t.Instances[o.Instance].URL())+path, io.NopCloser(bytes.NewReader(body)))
	if err != nil {
		return nil, err
	}
	request.ContentLength = int64(len(body))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Idempotency-Key", o.Key)
	return request, nil
}

// wrong says what is not in order with the form of an answer, "" for nothing.
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

// leaks looks for what no caller may read.
func leaks(detail string) bool {
	for _, word := range []string{"127.0.0.1", "SELECT", "UPDATE", "goroutine", "SQLSTATE", "dial tcp", "pq:", stage.ServicePassword} {
		if strings.Contains(detail, word) {
			return true
		}
	}
	return false
}
