package cli

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// stopMax is the promised maximum time of a graceful shutdown.
const stopMax = 15 * time.Second

// standstill sums up the times for which this process was paused, or waited for a
// processor, until end is called. No timeout can be kept during such times.
func standstill() (end func() time.Duration) {
	const tick = 10 * time.Millisecond
	ended, stood := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		var sum time.Duration
		for last, done := time.Now(), false; !done; last = time.Now() {
			select {
			case <-ended:
				done = true
			case <-time.After(tick):
			}
			if late := time.Since(last) - tick; late > tick {
				sum += late
			}
		}
		stood <- sum
	}()
	return func() time.Duration { close(ended); return <-stood }
}

// crowd are callers that draw until the service has exited. Each draw has a key.
type crowd struct {
	mu sync.Mutex
	// won has the answer of each key that was answered 200.
	won map[string]string
	// asked are all keys. refused has the keys that got another answer, by the status of
	// the answer or by "draining".
	asked   []string
	refused map[string][]string
	under   sync.WaitGroup
	// round distinguishes the keys of several crowds.
	round int
}

// drawFrom starts the given number of callers.
func (c *crowd) drawFrom(s *service, callers int) {
	c.won, c.refused = map[string]string{}, map[string][]string{}
	for caller := range callers {
		c.under.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("r%d-c%d-%d", c.round, caller, n)
				c.note(func() { c.asked = append(c.asked, key) })
				status, body, err := s.draw("spring", "u1", key)
				switch {
				case err != nil:
					return // the listener is closed
				case status == http.StatusOK:
					c.note(func() { c.won[key] = body })
				default:
					code := fmt.Sprint(status)
					if strings.Contains(body, `"code":"draining"`) && strings.Contains(body, `"outcome":"unknown"`) {
						code = "draining"
					}
					c.note(func() { c.refused[code] = append(c.refused[code], key) })
					if code != "draining" {
						return
					}
				}
			}
		})
	}
}

func (c *crowd) note(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
}

func (c *crowd) wins() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.won)
}

// TestStopUnderLoad: the shutdown of a service loses no acknowledged draw, and the next
// service finds every key.
func TestStopUnderLoad(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := on(t, url)
		p.ok("migrate", "up")
		p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1000", "--prize", "id=tin,stock=100000")
		s := p.serve("--log-level", "warn", "--demo")
		var c crowd
		c.drawFrom(s, 32)
		require.Eventually(t, func() bool { return c.wins() >= 300 }, commandMax, 5*time.Millisecond)
		begun, stood := time.Now(), standstill()
		o := s.end()
		require.Less(t, time.Since(begun)-stood(), stopMax)
		require.Equal(t, exitOK, o.code, o.message)
		c.under.Wait()
		t.Logf("%d draws acknowledged, %d refused; ended in %s", len(c.won), len(c.asked)-len(c.won), time.Since(begun))
		for code := range c.refused {
			require.Equal(t, "draining", code)
		}
		p.ok("audit")

		// Every won key gets the same answer again. A key whose answer was that nothing
		// happened makes a new draw. A key without an answer may get either.
		s = p.serve()
		for key, body := range c.won {
			first, _ := parseDraw(t, body)
			again, replayed := s.won("spring", "u1", key)
			require.True(t, replayed, key)
			require.Equal(t, first, again)
		}
		for _, key := range c.refused["draining"] {
			_, replayed := s.won("spring", "u1", key)
			require.False(t, replayed, key)
		}
		for _, key := range c.asked {
			if _, isWon := c.won[key]; !isWon {
				s.won("spring", "u1", key)
			}
		}
		require.Equal(t, exitOK, s.end().code)
		require.Contains(t, p.ok("audit", "--pool", "spring"), "0 violations")
		require.Contains(t, p.ok("pool", "show", "spring"), fmt.Sprintf("version %d\n", 3+len(c.asked)), "each key drew once")
	})
}

// TestStopWithASilentDatabase: a shutdown ends within its maximum time, even if draws
// wait for the database.
func TestStopWithASilentDatabase(t *testing.T) {
	t.Parallel()
	type silenced struct {
		url     string
		proxy   *servertest.Proxy
		service *service
		took    time.Duration
		ended   outcome
	}
	var all []*silenced
	var waiting, exiting sync.WaitGroup
	for _, dialect := range []string{"postgres", "mysql"} {
		url := stocktest.Migrated(t, dialect)
		spring(t, url)
		proxy := servertest.StartProxy(t, url)
		s := on(t, proxy.URL()).serve("--request-timeout", "2m")
		s.won("spring", "u1", "first")
		proxy.Hold()
		waiting.Go(func() { s.draw("spring", "u1", "second") })
		require.Eventually(t, func() bool {
			metrics, err := s.metrics()
			return err == nil && strings.Contains(metrics, "drawsvc_database_connections_in_use 1")
		}, commandMax, 10*time.Millisecond)
		all = append(all, &silenced{url: url, proxy: proxy, service: s})
	}
	for _, c := range all { // both services end at once, because they mostly wait
		exiting.Go(func() {
			begun, stood := time.Now(), standstill()
			c.ended = c.service.end()
			c.took = time.Since(begun) - stood()
		})
	}
	exiting.Wait()
	for _, c := range all {
		require.Less(t, c.took, stopMax)
		require.Equal(t, exitOK, c.ended.code, c.ended.message)
		if strings.HasPrefix(c.url, "postgres") { // MySQL's driver gives up at about the same time
			require.Contains(t, c.ended.stderr, "exiting while draws still wait for the database")
		}
		c.proxy.Cut() // the calls that would have ended with the process end now
	}
	waiting.Wait()
	for _, c := range all {
		on(t, c.url).serve().won("spring", "u1", "second")
	}
}
