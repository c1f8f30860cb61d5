package experiments

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/harness"
)

const (
	// overloadFor is how long each number of callers draws; overloadWarms is how long
	// they draw before draws are counted.
	overloadFor, overloadWarms = 4 * time.Second, 4 * time.Second
	// overloadRounds is the number of rounds with each number of callers. The median is
	// judged, because a single round may be disturbed by other work of the machine.
	overloadRounds = 3
	// overloadLeast is the part of the best goodput that must be left under overload.
	overloadLeast = 0.8
	// overloadUser is the number of keys for each user, so small that no user reaches a
	// limit.
	overloadUser = 20_000
	// overloadKnown is how many known keys are repeated under each load.
	overloadKnown = 5
	// overloadRules are limits and a guarantee: each draw reads its user's earlier
	// draws.
	overloadRules = `{"fallback":"none","guarantee":{"after":9,"prize":"tin"},"limits":[{"of":"draws","max":900,"per":"day"},
		{"of":"draws","max":5000,"per":"week"},{"of":"wins","max":90,"per":"day"},{"of":"prize","prize":"gold","max":1,"per":"month"}]}`
	// heldPart is the part of a core that a slow server gets.
	heldPart = 0.25
)

// overloads are faults in which more callers draw from a pool than the service can serve.
func overloads() []Experiment {
	return []Experiment{overload(), overloadHeld()}
}

func overloadHeld() Experiment {
	places := []place{{"mysql", lockmode.ForUpdate, "", 1}}
	return Experiment{Name: "overload on a part of a core", own: true, run: overloadedAndHeld, Longest: overloadMax, places: places}
}

const overloadMax = 5 * time.Minute

// overload is run in every mode: which mode is the worst on a database depends on the
// machine.
func overload() Experiment {
	return Experiment{Name: "overload", own: true, run: overloaded, Longest: overloadMax, places: everywhere(1)}
}

func overloadedAndHeld(t *trial) error {
	pool := t.overloadPool() // the pool is created while the server is fast
	undo, how := t.Server.Throttle(heldPart)
	defer undo()
	t.Note("the server has %.2f of a core: %s", heldPart, how)
	return t.underOverload(pool)
}

func overloaded(t *trial) error { return t.underOverload(t.overloadPool()) }

func (t *trial) overloadPool() string {
	pool := t.Pool("overload")
	t.Must(t.Operate(http.MethodPost, "/admin/pools", map[string]any{
		"id": pool, "name": "Overload", "rules": json.RawMessage(overloadRules), "prizes": []map[string]any{
			{"id": "gold", "name": "Gold", "value": "3.00", "stock": 1_000_000},
			{"id": "tin", "name": "Tin", "value": "0.50", "stock": 1_000_000},
			{"id": "none", "name": "No win", "kind": "blank"},
		},
	}, http.StatusCreated))
	return pool
}

// underOverload demands that the goodput of many callers is nearly that of the best
// number of callers, and that no known key is refused.
func (t *trial) underOverload(pool string) error {
	own := &http.Transport{MaxIdleConnsPerHost: 5000, DisableCompression: true}
	defer own.CloseIdleConnections()
	f := &overloading{trial: t, pool: pool, client: &http.Client{Transport: own, Timeout: 10 * time.Second}}
	for n := range overloadKnown {
		f.until200(fmt.Sprint("known-", n))
	}
	counts, rounds := []int{50, 400, 1500, 4000}, map[int][]float64{}
	for range overloadRounds {
		for _, callers := range counts {
			draws := f.goodput(callers)
			t.Note("%d callers: %.0f draws/s in time; other answers %s", callers, draws, f.others())
			rounds[callers] = append(rounds[callers], draws)
		}
	}
	got := map[int]float64{}
	for callers, draws := range rounds {
		slices.Sort(draws)
		got[callers] = draws[overloadRounds/2]
	}
	best := slices.Max(slices.Collect(maps.Values(got)))
	for _, callers := range counts[2:] { // fewer do not overload the service
		if got[callers] < overloadLeast*best {
			t.Verdict.Say(history.Fault, "%d callers: %.0f draws/s, %.2f of the best", callers, got[callers], got[callers]/best)
		}
	}
	return nil
}

// overloading is a load of callers that draw from a pool, each for a different user.
type overloading struct {
	*trial
	pool   string
	client *http.Client
	counts atomic.Bool
	won    atomic.Int64
	keys   atomic.Int64
	busy, unknown,
	failed atomic.Int64
	failure atomic.Value // the text of the last failure
}

func (f *overloading) others() string {
	failure := f.failure.Swap("")
	return fmt.Sprintf("503: %d, 504: %d, none or any other: %d %v", f.busy.Swap(0), f.unknown.Swap(0), f.failed.Swap(0), failure)
}

func (f *overloading) goodput(callers int) float64 {
	ctx, end := context.WithTimeout(f.Ctx, overloadWarms+overloadFor)
	defer end()
	f.won.Store(0)
	counting := time.AfterFunc(overloadWarms, func() { f.counts.Store(true) })
	defer counting.Stop()
	go func() {
		<-ctx.Done()
		f.counts.Store(false)
	}()
	client.Parallel(callers+1, func(n int) {
		if n == callers {
			f.asksKnown(ctx)
			return
		}
		time.Sleep(rand.N(time.Second)) //nolint:gosec // not a secret
		for ctx.Err() == nil {
			key := f.keys.Add(1)
			_, _, wait := f.draw(fmt.Sprint("user-", n, "-", key/overloadUser), fmt.Sprint("key-", key))
			if wait > 0 {
				time.Sleep(wait + rand.N(time.Second)) //nolint:gosec // not a secret
			}
		}
	})
	return float64(f.won.Load()) / overloadFor.Seconds()
}

func (f *overloading) draw(user, key string) (status int, outcome string, wait time.Duration) {
	body := fmt.Sprintf(`{"pool":%q,"user":%q}`, f.pool, user)
	request, err := http.NewRequestWithContext(f.Ctx, http.MethodPost, f.Instances[0].URL()+"/draw", strings.NewReader(body))
	f.Must(err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", key)
	request.Header.Set("Authorization", "Bearer "+harness.DrawToken)
	response, err := f.client.Do(request)
	if err != nil {
		f.fails(err.Error())
		return 0, "", time.Second
	}
	var said struct{ Outcome string }
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // it was read
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	switch {
	case err != nil:
		f.fails(err.Error())
	case response.StatusCode == http.StatusOK && f.counts.Load():
		f.won.Add(1)
	case response.StatusCode == http.StatusServiceUnavailable:
		f.busy.Add(1)
	case response.StatusCode == http.StatusGatewayTimeout:
		f.unknown.Add(1)
	case response.StatusCode != http.StatusOK:
		f.fails(string(text))
	}
	if response.StatusCode != http.StatusOK {
		wait = max(time.Duration(seconds)*time.Second, time.Second)
	}
	return response.StatusCode, said.Outcome, wait
}

func (f *overloading) fails(text string) {
	f.failed.Add(1)
	f.failure.Store(text)
}

// until200 retries a draw until it is answered 200.
func (f *overloading) until200(key string) {
	for f.Ctx.Err() == nil {
		status, _, wait := f.draw(key, key)
		if status == http.StatusOK {
			return
		}
		time.Sleep(wait)
	}
}

// asksKnown repeats known keys; no answer may state that nothing happened.
func (f *overloading) asksKnown(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprint("known-", n%overloadKnown)
		if status, outcome, _ := f.draw(key, key); status != http.StatusOK && status != 0 && outcome != "unknown" {
			f.Verdict.Say(history.KnownRefused, "a known key is answered %d with the outcome %q", status, outcome)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
