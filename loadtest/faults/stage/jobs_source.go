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

// source is a slow catalogue. Each content has a number of its own, higher than
// those before. Each instance asks at a path of its own.
type source struct {
	address string
	// Began gets the instance of each fetch that begins, when somebody waits.
	Began   chan int
	Fetches atomic.Int64
	// Met counts the fetches that met another one, of runners that are alive.
	Met atomic.Int64
	// Down says that it answers nothing but 503.
	Down atomic.Bool

	mu sync.Mutex
	// inside are the instances that are being answered, still those that stand
	// still: the fetch of one is nobody's.
	inside, still map[int]int
}

// sourceSlow is how long a fetch takes.
const sourceSlow = 1500 * time.Millisecond

func newSource(s *harness.Site) *source {
	c := &source{Began: make(chan int, 1), inside: map[int]int{}, still: map[int]int{}}
	c.address = harness.Serve(s, c)
	return c
}

// flags are those of an instance that fetches from it.
func (c *source) flags(n int, lock string) []string {
	return []string{
		"--catalogue-url", fmt.Sprintf("http://%s/%d", c.address, n), "--catalogue-every", "1s",
		"--host-name", fmt.Sprintf("host-%d", n), "--jobs-lock", lock,
	}
}

// StandsStill says that an instance is kept from running, or runs again.
func (c *source) StandsStill(n int, still bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if delete(c.still, n); still {
		c.still[n] = 1
	}
}

// ServeHTTP implements http.Handler. The content's number is taken when the fetch
// begins, so that a fetch which is answered late brings old content.
func (c *source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if c.Down.Load() {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	var n int
	_, _ = fmt.Sscanf(strings.TrimPrefix(r.URL.Path, "/"), "%d", &n)
	content := c.Fetches.Add(1)
	c.enter(n)
	select {
	case c.Began <- n:
	default:
	}
	select {
	case <-time.After(sourceSlow):
	case <-r.Context().Done():
	}
	c.leave(n)
	w.Header().Set("Content-Type", "application/json")
	var items []string
	for _, prize := range PrizeNames() {
		items = append(items, fmt.Sprintf(`{"id":%q,"description":"content %d"}`, prize, content))
	}
	fmt.Fprintf(w, `{"prizes":[%s]}`, strings.Join(items, ","))
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
