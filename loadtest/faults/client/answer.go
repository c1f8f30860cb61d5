package client

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

// Patience is how much longer than an answer may take a client waits for it.
const Patience = 3 * time.Second

// Answer is every body that the service may answer a draw or a move with.
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

// Present has draws sent with another token from now on.
func (t *Trial) Present(token string) { t.presents.Store(&token) }

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
