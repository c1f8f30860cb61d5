package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fleet is a set of instances behind a balancer that notices every change at once.
// Callers draw all the time, and the balancer checks the readiness of the instances.
type fleet struct {
	tb      testing.TB
	working sync.WaitGroup
	ended   chan struct{}

	mu      sync.Mutex
	members []*process
	// won has the answer of each key; answers counts how often each was received.
	won     map[string]string
	answers map[string]int
	// faults are the answers that a caller or the balancer got, but must not get.
	faults []string
}

const (
	// fleetCallers is the number of callers, each of which draws in sequence: they keep
	// a small machine busy without overloading it.
	fleetCallers = 6
	drawPause    = 10 * time.Millisecond
	// settleMax is how long a caller retries with a key.
	settleMax = 30 * time.Second
	// unreadyMax is how long checks of readiness may be unanswered because of the
	// database.
	unreadyMax = 6 * time.Second
	// phaseDraws is how many draws must succeed between two steps of an upgrade.
	phaseDraws = 40
)

// newFleet starts the load; it ends with halt, and with the test.
func newFleet(tb testing.TB) *fleet {
	f := &fleet{tb: tb, ended: make(chan struct{}), won: map[string]string{}, answers: map[string]int{}}
	for caller := range fleetCallers {
		f.working.Go(func() {
			for n := 0; !f.isEnded(); n++ {
				f.drawOne(fmt.Sprintf("c%d-%d", caller, n))
				time.Sleep(drawPause)
			}
		})
	}
	f.working.Go(func() {
		for !f.isEnded() {
			for _, m := range f.all() {
				f.probe(m)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	tb.Cleanup(f.halt)
	return f
}

func (f *fleet) halt() {
	f.mu.Lock()
	if !f.isEnded() {
		close(f.ended)
	}
	f.mu.Unlock()
	f.working.Wait()
}

func (f *fleet) isEnded() bool {
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

func (f *fleet) all() []*process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.members)
}

func (f *fleet) has(m *process) bool { return slices.Contains(f.all(), m) }

func (f *fleet) fault(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

// found returns the faults so far.
func (f *fleet) found() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.faults)
}

// drawOne retries with a key until it is won, as a good caller does.
func (f *fleet) drawOne(key string) {
	for begun := time.Now(); time.Since(begun) < settleMax; time.Sleep(10 * time.Millisecond) {
		members := f.all()
		if len(members) == 0 {
			continue
		}
		m := members[rand.IntN(len(members))]
		status, body, err := m.draw("spring", "u1", key)
		answer := documented(status, body)
		if err != nil {
			answer = "no answer"
		}
		f.mu.Lock()
		f.answers[answer]++
		if answer == "won" {
			f.won[key] = body
		}
		f.mu.Unlock()
		switch {
		case answer == "won":
			return
		case err != nil && f.has(m):
			f.fault("an instance that serves gave no answer: %v", err)
			return
		case answer == "":
			f.fault("answer that is not documented: %d %s", status, body)
			return
		}
		if f.isEnded() && len(f.found()) > 0 {
			return // the run has already failed
		}
	}
	f.fault("key %s was not won in %s", key, settleMax)
}

// documented returns the name of an answer that a caller may get during an upgrade: a
// win, or a refusal that makes it retry. It is "" for any other.
func documented(status int, body string) string {
	var said struct{ Code, Outcome string }
	if err := json.Unmarshal([]byte(body), &said); err != nil {
		return ""
	}
	again := []string{"contended", "overloaded", "store-unavailable", "lock-unavailable", "draining"}
	switch {
	case status == http.StatusOK:
		return "won"
	case status == http.StatusServiceUnavailable && slices.Contains(again, said.Code) && slices.Contains([]string{"none", "unknown"}, said.Outcome):
		return said.Code
	case status == http.StatusGatewayTimeout && said.Code == "outcome-unknown" && said.Outcome == "unknown":
		return said.Code
	}
	return ""
}

// probe requests the readiness of an instance. If the database does not answer, it
// retries for up to unreadyMax: on a busy machine a check may take longer than its two
// seconds, and its result is used for one more second.
func (f *fleet) probe(m *process) {
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		status, body, err := m.ask("GET", "/readyz", "")
		switch {
		case err == nil && status == http.StatusOK || !f.has(m):
			return
		case err != nil || !strings.Contains(body, "the database does not answer") || time.Since(begun) > unreadyMax:
			f.fault("readyz of an instance that serves: %d %s %v", status, body, err)
			return
		}
	}
}

// join starts an instance and sends draws to it.
func (f *fleet) join(p program) {
	f.tb.Helper()
	m := p.start()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = append(f.members, m)
}

// leave stops sending draws to the oldest instance, and ends it.
func (f *fleet) leave() {
	f.tb.Helper()
	f.mu.Lock()
	m := f.members[0]
	f.members = slices.Clone(f.members[1:])
	f.mu.Unlock()
	code, _ := m.signal(terminate)
	require.Equal(f.tb, exitOK, code, m.stderr.String())
}

// goOn waits until more draws were answered, and reports whether all is well.
func (f *fleet) goOn() bool {
	f.tb.Helper()
	wins := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.won)
	}
	before := wins()
	require.Eventually(f.tb, func() bool { return wins() >= before+phaseDraws || len(f.found()) > 0 }, commandMax, 10*time.Millisecond)
	return len(f.found()) == 0
}

// keeps repeats every won key on an instance: each must get its first answer again.
func (f *fleet) keeps(m *process) {
	keys := make(chan string)
	var asking sync.WaitGroup
	for range fleetCallers {
		asking.Go(func() {
			for key := range keys {
				status, body, err := m.draw("spring", "u1", key)
				first := strings.Replace(f.won[key], `"replayed":false`, `"replayed":true`, 1)
				if err != nil || status != http.StatusOK || body != first {
					f.fault("key %s was answered %s, and now %d %s %v", key, f.won[key], status, body, err)
				}
			}
		})
	}
	for key := range f.won {
		keys <- key
	}
	close(keys)
	asking.Wait()
}
