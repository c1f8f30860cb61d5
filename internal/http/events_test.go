package http

import (
	"bufio"
	"context"
	"net"
	nethttp "net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/access"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// someFrame is the frame that shows the pools in these tests.
const someFrame = "data: {\"at\":\"2026-03-04T04:06:07.000890Z\",\"pools\":[]}\n\n"

// Watch sends one frame and no more.
func (f fakeStore) Watch(_ context.Context, write func([]byte) error) error {
	if err := f.note("watch"); err != nil {
		return err
	}
	return write([]byte(someFrame))
}

// frames is a Watcher that sends a frame for each token of a channel.
type frames chan struct{}

func (f frames) Watch(ctx context.Context, write func([]byte) error) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-f:
			if err := write([]byte(someFrame)); err != nil {
				return err
			}
		}
	}
}

// listen opens the stream and returns its lines, which end with it.
func listen(t *testing.T, conn net.Conn, token string) (lines <-chan string) {
	t.Helper()
	_, err := conn.Write([]byte("GET /admin/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\n\r\n"))
	require.NoError(t, err)
	found := make(chan string, 100)
	go func() {
		defer close(found)
		answer, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return
		}
		found <- answer.Status + " " + answer.Header.Get("Content-Type")
		for scan := bufio.NewScanner(answer.Body); scan.Scan(); {
			found <- scan.Text()
		}
	}()
	return found
}

// next returns the next line of a stream, "" at its end.
func next(t *testing.T, lines <-chan string) string {
	t.Helper()
	select {
	case line := <-lines:
		return line
	case <-time.After(10 * time.Second):
		t.Fatal("the stream says nothing, and does not end")
		return ""
	}
}

// TestEvents: the stream outlives the limits of other calls, and ends when the service
// begins to drain.
func TestEvents(t *testing.T) { synctest.Test(t, eventsOutliveLimits) }

func eventsOutliveLimits(t *testing.T) {
	feed := make(frames, 10)
	s := newServer(t, &fake{}, func(c *Config) { c.Watcher = feed })
	s.limits.read, s.limits.write = 50*time.Millisecond, 50*time.Millisecond
	conn, err := pipedTo(t, s).dial(t)
	require.NoError(t, err)
	lines := listen(t, conn, adminToken)
	feed <- struct{}{}
	require.Equal(t, "200 OK text/event-stream", next(t, lines))
	for range 3 {
		require.Equal(t, strings.TrimSpace(someFrame), next(t, lines))
		require.Equal(t, "", next(t, lines))
		time.Sleep(2 * s.limits.write)
		feed <- struct{}{}
	}
	s.endStreams()
	for line := range lines {
		require.Contains(t, someFrame, line)
	}
	require.Equal(t, "draining", problemIn(t, do(s, asAdmin("GET", "/admin/events", "")).Result()).Code)
}

// TestEventsEndWithTheToken: after a token is removed, its stream gets no more frames.
func TestEventsEndWithTheToken(t *testing.T) {
	feed := make(frames, 10)
	auditor := access.Token{Name: "eve", Role: access.Auditor, Digest: access.DigestOf("auditor")}
	s := newServer(t, &fake{}, func(c *Config) { c.Watcher, c.Tokens = feed, keep(adminEntry(), auditor) })
	lines := listen(t, dial(t, served(t, s)), "auditor")
	feed <- struct{}{}
	require.Equal(t, "200 OK text/event-stream", next(t, lines))
	require.Equal(t, strings.TrimSpace(someFrame), next(t, lines))
	require.Equal(t, "", next(t, lines))
	set, err := access.NewSet(adminEntry())
	require.NoError(t, err)
	s.Tokens.Replace(set)
	feed <- struct{}{}
	_, more := <-lines
	require.False(t, more)
}

// TestEventsAreNoLatency: no histogram contains how long a caller listens.
func TestEventsAreNoLatency(t *testing.T) {
	s := newServer(t, &fake{})
	require.Equal(t, someFrame, do(s, asAdmin("GET", "/admin/events", "")).Body.String())
	shown := do(s, asAdmin("GET", "/metrics", "")).Body.String()
	require.Contains(t, shown, `drawsvc_http_request_duration_seconds_count{method="GET",route="/admin/events"} 0`)
	require.Contains(t, shown, `drawsvc_http_requests_total{method="GET",route="/admin/events",status="200"} 1`)
}

// TestSelfNamesTheToken: the answer names the token, so that the page can offer the
// right actions.
func TestSelfNamesTheToken(t *testing.T) {
	until := at.AddDate(100, 0, 0)
	stock := access.Token{Name: "shop", Role: access.Stock, Digest: access.DigestOf("stock"), Until: until}
	s := newServer(t, &fake{}, func(c *Config) { c.Tokens = keep(adminEntry(), stock) })
	require.JSONEq(t, `{"name":"admin","role":"admin","until":null,"draws":"anyone"}`, do(s, asAdmin("GET", "/admin/self", "")).Body.String())
	asStock := request("GET", "/admin/self", "", "Authorization", "Bearer stock")
	require.JSONEq(t, `{"name":"shop","role":"stock","until":"`+api.ShowTime(until)+`","draws":"anyone"}`, do(s, asStock).Body.String())
}

// TestSelfSaysWhoDraws: an expired token of role draw does not count as one that can
// draw.
func TestSelfSaysWhoDraws(t *testing.T) {
	old := tokenOf("old", access.Draw)
	old.Until = time.Unix(1, 0)
	for draws, setup := range map[string]setup{
		"anyone": func(*Config) {}, "token": withTokens(tokenOf("till", access.Draw)), "nobody": withTokens(old, tokenOf("shop", access.Stock)),
	} {
		s := newServer(t, &fake{}, setup)
		require.Contains(t, do(s, asAdmin("GET", "/admin/self", "")).Body.String(), `"draws":"`+draws+`"`)
	}
}

// FindAwards finds the awards of the tests, up to their first hundred versions.
func (f fakeStore) FindAwards(_ context.Context, poolID string, w draw.AwardFilter, after int64, limit int) ([]draw.Award, int64, error) {
	return []draw.Award{award("d1", "u1")}, after + 3, f.note([4]any{poolID, w, after, limit})
}

// Acts returns the entries of someLog that are not awards.
func (f fakeStore) Acts(_ context.Context, _ string, after int64, limit int) ([]draw.Entry, error) {
	return someLog()[:2], f.note([2]int64{after, int64(limit)})
}

// TestFindAwards: valid searches reach the store, and invalid searches do not.
func TestFindAwards(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	w := do(s, asAdmin("GET", "/admin/pools/p/awards?user=u%201&prize=gold&after=1&limit=5", ""))
	require.Equal(t, 200, w.Code)
	require.Contains(t, w.Body.String(), `"next":4}`)
	require.Equal(t, [4]any{"p", draw.AwardFilter{UserID: "u 1", PrizeID: "gold"}, int64(1), 5}, f.asked[len(f.asked)-2])
	w = do(s, asAdmin("GET", "/admin/pools/p/awards?draw=d1&after=5", ""))
	require.Contains(t, w.Body.String(), `"next":null}`, "the pool's version is 7")
	for query, detail := range map[string]string{
		"user=": "user is empty", "draw=": "draw is empty", "prize=X": "prize", "user=%20u": "user",
	} {
		p := problemIn(t, do(s, asAdmin("GET", "/admin/pools/p/awards?"+query, "")).Result())
		require.Equal(t, "invalid-request", p.Code)
		require.Contains(t, p.Detail, detail)
	}
}
