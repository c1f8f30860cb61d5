package stage

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/loadtest/harness"
)

// source is a slow catalogue. Each content has a number, higher than those before. Each
// instance fetches from its own path.
type source struct {
	address string
	Fetches atomic.Int64
	// Met counts the fetches that overlapped another one, by running instances.
	Met atomic.Int64
	// Down makes it answer only 503.
	Down atomic.Bool
	// isQuick makes it answer at once, so that there are pauses between runs.
	isQuick atomic.Bool
	// flaw is the flaw that is being tried, "" for none.
	flaw atomic.Value

	mu sync.Mutex
	// inside counts the instances that are being answered; still counts those that are
	// paused, whose fetches do not count as overlapping.
	inside, still map[int]int
}

// RunLasts is how long a fetch takes, and a run of the other jobs that can be delayed:
// long enough for a fault in its middle.
const RunLasts = 4 * time.Second

// Flaws of a source.
const (
	Hangs = "hangs"
	Drips = "drips"
	Lies  = "lies about its length"
)

const hangsFor = 5 * time.Second

func newSource(s *harness.Site) *source {
	c := &source{inside: map[int]int{}, still: map[int]int{}}
	c.flaw.Store("")
	c.address = harness.Serve(s, c)
	return c
}

func (c *source) flags(n int, lock string) []string {
	return []string{
		"--catalogue-url", fmt.Sprintf("http://%s/%d", c.address, n), "--catalogue-every", "1s",
		"--host-name", HostName(n), "--jobs-lock", lock,
	}
}

// HostName returns the name of an instance, for jobs that are pinned to one instance.
func HostName(n int) string { return fmt.Sprintf("host-%d", n) }

// StandsStill notes that an instance is paused, or runs again.
func (c *source) StandsStill(n int, still bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.still, n); still {
		c.still[n] = 1
	}
}

// Has sets the source's flaw, "" for none.
func (c *source) Has(flaw string) { c.flaw.Store(flaw) }

// ServeHTTP implements http.Handler. The content gets its number when the fetch begins,
// so that a fetch which is answered late brings old content.
func (c *source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.Down.Load() {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	var n int
	_, _ = fmt.Sscanf(strings.TrimPrefix(r.URL.Path, "/"), "%d", &n)
	content := c.Fetches.Add(1)
	c.enter(n)
	defer c.leave(n)
	var items []string
	for _, prize := range PrizeNames() {
		items = append(items, fmt.Sprintf(`{"id":%q,"description":"content %d"}`, prize, content))
	}
	body := fmt.Sprintf(`{"prizes":[%s]}`, strings.Join(items, ","))
	w.Header().Set("Content-Type", "application/json")
	switch c.flaw.Load() {
	case Hangs:
		pause(r, hangsFor)
	case Drips:
		drip(w, r, body)
	case Lies: // states twice the body's length, so that the body is cut in the middle
		w.Header().Set("Content-Length", fmt.Sprint(2*len(body)))
		fmt.Fprint(w, body)
		_ = http.NewResponseController(w).Flush() // without it, the end of the connection would discard the body
	default:
		if !c.isQuick.Load() {
			pause(r, RunLasts)
		}
		fmt.Fprint(w, body)
		return
	}
	panic(http.ErrAbortHandler) // ends the connection
}

// drip writes the first half of a body, byte by byte.
func drip(w http.ResponseWriter, r *http.Request, body string) {
	half := body[:len(body)/2]
	for _, b := range []byte(half) {
		_, _ = w.Write([]byte{b})
		_ = http.NewResponseController(w).Flush()
		pause(r, hangsFor/time.Duration(len(half)))
	}
}

func pause(r *http.Request, d time.Duration) {
	select {
	case <-time.After(d):
	case <-r.Context().Done():
	}
}

func (c *source) enter(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for other := range c.inside {
		if other != n && c.still[other] == 0 && c.still[n] == 0 {
			c.Met.Add(1)
		}
	}
	c.inside[n]++
}

func (c *source) leave(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inside[n]--; c.inside[n] == 0 {
		delete(c.inside, n)
	}
}
