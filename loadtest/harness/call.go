package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The tokens that every program is started with.
const (
	AdminToken = "loadtest-admin-token"
	DrawToken  = "loadtest-draw-token"
)

// fetchMax is the longest that Fetch waits for a response.
const fetchMax = 10 * time.Second

// Call makes a request, as an operator save for draws, with further headers as
// pairs, and returns the response's body and status.
func Call(ctx context.Context, method, at, body string, headers ...string) ([]byte, int, error) {
	request, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, 0, err
	}
	token := AdminToken
	if strings.HasSuffix(at, "/draw") {
		token = DrawToken
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	for k := 0; k+1 < len(headers); k += 2 {
		request.Header.Set(headers[k], headers[k+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return text, response.StatusCode, err
}

// Operate makes an operator's call on a connection that does not stay. Any
// status but the wanted one is an error.
func Operate(ctx context.Context, method, at, body string, want int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchMax)
	defer cancel()
	text, status, err := Call(ctx, method, at, body, "Connection", "close")
	if err == nil && status != want {
		err = fmt.Errorf("%s %s: %d %.300s", method, pathOf(at), status, text)
	}
	return text, err
}

// pathOf leaves out the address, whose port could be taken for a status.
func pathOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Path
}

// Fetch reads as an operator. Any status but 200 is an error.
func Fetch(ctx context.Context, at string) ([]byte, error) {
	return Operate(ctx, http.MethodGet, at, "", http.StatusOK)
}

// FetchJSON reads a JSON body as an operator.
func FetchJSON(ctx context.Context, at string, into any) error {
	text, err := Fetch(ctx, at)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// FreeAddress is one of the loopback on which nobody listens.
func FreeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
