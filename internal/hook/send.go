package hook

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"
)

// Answer is how an attempt ended.
type Answer struct {
	At time.Time
	// Status is the status of the answer, 0 without an answer. Error is why the attempt
	// failed, "" for a success. It contains no byte of the answer.
	Status int
	Error  string
	Took   time.Duration
	// RetryAfter is the wait that the receiver requests.
	RetryAfter time.Duration
}

// IsAccepted reports whether the receiver has accepted the message.
func (a *Answer) IsAccepted() bool { return a.Status >= 200 && a.Status < 300 }

// Sender sends messages.
type Sender struct {
	clients *clients
	dialer  *Dialer
	// Agent is the value of the header User-Agent.
	Agent string
}

// NewSender returns a Sender for this version of the program.
func NewSender(d *Dialer, version string) *Sender {
	return &Sender{clients: d.newClients(), dialer: d, Agent: "drawsvc/" + version}
}

// Close closes idle connections.
func (s *Sender) Close() { s.clients.close() }

// Send makes one attempt to send a message. The answer's body is not read.
func (s *Sender) Send(ctx context.Context, h *Hook, id string, body []byte, now time.Time) Answer {
	bounded, end := context.WithTimeout(ctx, attemptMax)
	defer end()
	begun := time.Now()
	a := Answer{At: now}
	request, err := http.NewRequestWithContext(bounded, http.MethodPost, h.URL, bytes.NewReader(body))
	if err == nil {
		err = SetHeaders(request.Header, id, now, body, h.secrets(now)...)
	}
	if err != nil {
		a.Error = "the URL cannot be read"
		return a
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", s.Agent)
	response, err := s.clients.do(bounded, request)
	a.Took = time.Since(begun)
	if err != nil {
		a.Error = describe(err)
		return a
	}
	_ = response.Body.Close() // the body is not read
	a.Status = response.StatusCode
	if !a.IsAccepted() {
		a.Error = "status " + strconv.Itoa(a.Status)
		a.RetryAfter = readRetryAfter(a.Status, response.Header, now)
	}
	return a
}

// Test sends a message of type hook.test.
func (s *Sender) Test(ctx context.Context, h *Hook, now time.Time) Answer {
	return s.Send(ctx, h, NewMessageID(), TestBody(now), now)
}

// CheckURL returns an error unless a hook may have the URL; see [Dialer.CheckURL]. Error:
// CodeInvalidRequest.
func (s *Sender) CheckURL(text string) error { return s.dialer.CheckURL(text) }
