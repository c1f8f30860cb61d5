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
	"strconv"
	"strings"
	"time"
)

// The tokens that every program is started with.
const (
	AdminToken = "loadtest-admin-token"
	DrawToken  = "loadtest-draw-token"
)

const fetchMax = 10 * time.Second

// Call makes a request, as an operator except for draws, and returns the response's
// body and status. headers alternate between names and values.
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
	response, err := clientOf(ctx).Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return text, response.StatusCode, err
}

type through struct{}

// Through returns a context whose calls are made by a transport.
func Through(ctx context.Context, transport http.RoundTripper) context.Context {
	return context.WithValue(ctx, through{}, transport)
}

func clientOf(ctx context.Context) *http.Client {
	if transport, is := ctx.Value(through{}).(http.RoundTripper); is {
		return &http.Client{Transport: transport}
	}
	return http.DefaultClient
}

// Operate makes an operator's call on a connection that is closed afterwards. Any
// status except the wanted one is an error.
func Operate(ctx context.Context, method, at, body string, want int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchMax)
	defer cancel()
	text, status, err := Call(ctx, method, at, body, "Connection", "close")
	if err == nil && status != want {
		err = Unwanted{status, fmt.Sprintf("%s %s: %d %.300s", method, pathOf(at), status, text)}
	}
	return text, err
}

// Unwanted is the error of a call that was answered with an unexpected status.
type Unwanted struct {
	Status int
	said   string
}

// Error returns the call and its answer.
func (u Unwanted) Error() string { return u.said }

// pathOf leaves out the address, whose port could be taken for a status.
func pathOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Path
}

// Fetch makes an operator's GET request. Any status except 200 is an error.
func Fetch(ctx context.Context, at string) ([]byte, error) {
	return Operate(ctx, http.MethodGet, at, "", http.StatusOK)
}

// FetchJSON reads a JSON body by an operator's GET request.
func FetchJSON(ctx context.Context, at string, into any) error {
	text, err := Fetch(ctx, at)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// Metrics returns a program's metrics: those without labels by name, the others by name
// and labels.
func Metrics(ctx context.Context, at string) (map[string]float64, error) {
	text, err := Fetch(ctx, at+"/metrics")
	return parseMetrics(text), err
}

func parseMetrics(text []byte) map[string]float64 {
	found := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if figure, err := strconv.ParseFloat(value, 64); ok && err == nil {
			found[name] = figure
		}
	}
	return found
}

// Serve answers requests on a loopback address until the site ends, and returns the
// address.
func Serve(s *Site, handler http.Handler) string {
	listener, err := new(net.ListenConfig).Listen(s.Context(), "tcp", "127.0.0.1:0")
	s.Must(err)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with Close
	s.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// Pool is a pool to be created.
type Pool struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	Prizes []Prize `json:"prizes"`
}

// Prize is a prize of a pool to be created.
type Prize struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Value string `json:"value"`
	Stock int64  `json:"stock"`
	Codes bool   `json:"codes,omitempty"`
}

// MakePool creates a pool.
func MakePool(ctx context.Context, at string, p Pool) error {
	body, err := json.Marshal(p)
	if err == nil {
		_, err = Operate(ctx, http.MethodPost, at+"/admin/pools", string(body), http.StatusCreated)
	}
	return err
}

// TenPrizes returns the usual prizes of a pool that is measured, from prize-0 on, each
// with the given stock.
func TenPrizes(stock int64) []Prize {
	prizes := make([]Prize, 10)
	for n := range prizes {
		prizes[n] = Prize{ID: fmt.Sprint("prize-", n), Name: fmt.Sprint("Prize ", n), Value: "1.00", Stock: stock}
	}
	return prizes
}
