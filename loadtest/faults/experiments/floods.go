package experiments

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/harness"
)

const (
	// guessers is the number of clients that guess at once, for guessFor.
	guessers = 8
	guessFor = 5 * time.Second
	// guessesRead is how many wrong tokens from one address an instance may check in
	// that time: twice the promised number, for a busy machine.
	guessesRead = 2 * (20 + int(guessFor/(5*time.Second)))
	// wonLeast is the minimum number of draws that must win during a flood.
	wonLeast = 50
)

func guessFlood() Experiment {
	return Experiment{
		Name: "flood of wrong tokens", own: true, run: guessed,
		places: []place{{"sqlite", lockmode.ForUpdate, "", 1}, {"postgres", lockmode.ForUpdate, "", 3}, {"mysql", lockmode.ForUpdate, "", 3}},
	}
}

// from returns a client whose requests come from a loopback address.
func (t *trial) from(address string) *http.Client {
	return t.Through(&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}})
}

func guessed(t *trial) error {
	honest := t.from("127.0.0.2")
	t.Site.Cleanup(honest.CloseIdleConnections)
	t.Client = honest
	return t.UnderLoad(func() error {
		since, before := t.History.Now(), t.drawn()
		said, err := t.guess()
		t.Must(err)
		won := t.drawn() - before
		t.Note("guesses were answered %v; %d draws won meanwhile", said, won)
		if read := said[http.StatusUnauthorized]; read > guessesRead*len(t.Instances) || said[http.StatusTooManyRequests] == 0 {
			t.Verdict.Say(history.Fault, "%d wrong tokens of one address were read, %d were not", read, said[http.StatusTooManyRequests])
		}
		if won < wonLeast {
			t.Verdict.Say(history.Fault, "only %d draws won beside the flood", won)
		}
		t.othersServed(since)
		t.noneRefused()
		return nil
	})
}

// guess sends wrong tokens as fast as they are answered, and counts the responses by
// status.
func (t *trial) guess() (map[int]int, error) {
	guesser := t.from("127.0.0.3")
	defer guesser.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Ctx, guessFor)
	defer cancel()
	var mu sync.Mutex
	said := map[int]int{}
	var failed error
	client.Parallel(guessers, func(n int) {
		for k := n; ctx.Err() == nil; k++ {
			status, err := t.answers(ctx, guesser, t.Instances[k%len(t.Instances)], "guess-"+t.Key())
			mu.Lock()
			if err == nil {
				said[status]++
			} else if ctx.Err() == nil {
				failed = errors.Join(failed, err)
			}
			mu.Unlock()
		}
	})
	return said, failed
}

const (
	// auditors is the number of clients that send requests at once, for auditFor.
	auditors = 36
	auditFor = 8 * time.Second
	// logged is how many awards each auditor reads; they were drawn in requests of
	// loggedEach.
	logged     = 60_000
	loggedEach = 100
	// archive is the pool that the auditors read. No client draws from it.
	archive = "archive"
)

// auditFlood requests audits and exports of a long log as fast as they are answered,
// while others draw, and a balancer requests readiness.
func auditFlood() Experiment {
	return Experiment{
		Name: "flood of audits and exports", own: true, run: audited, timeout: edgeTimeout,
		places: []place{{"sqlite", lockmode.ForUpdate, "", 1}, {"postgres", lockmode.ForUpdate, "", 3}, {"mysql", lockmode.ForUpdate, "", 3}},
	}
}

func audited(t *trial) error {
	t.Must(t.fillArchive())
	return t.UnderLoad(func() error {
		since, before := t.History.Now(), t.drawn()
		said, err := t.audits()
		t.Must(err)
		won := t.drawn() - before
		t.Note("audits and exports were answered %v; %d draws won meanwhile", said, won)
		if said[http.StatusServiceUnavailable] == 0 || said[http.StatusOK] == 0 {
			t.Verdict.Say(history.Fault, "%d audits and exports were made, %d refused", said[http.StatusOK], said[http.StatusServiceUnavailable])
		}
		if won < wonLeast {
			t.Verdict.Say(history.Fault, "only %d draws won beside the flood", won)
		}
		t.othersServed(since)
		return nil
	})
}

func (t *trial) fillArchive() error {
	at := t.Instances[0].URL()
	gold := []harness.Prize{{ID: "gold", Name: "Gold", Value: "1.00", Stock: logged}}
	t.Must(harness.MakePool(t.Ctx, at, harness.Pool{ID: archive, Name: "Archive", Prizes: gold}))
	var failed [client.WorkersUsual]error
	client.Parallel(len(failed), func(n int) {
		for k := n; k < logged/loggedEach && failed[n] == nil; k += len(failed) {
			body := fmt.Sprintf(`{"pool":%q,"user":"user-%d","count":%d}`, archive, k, loggedEach)
			_, status, err := harness.Call(t.Ctx, http.MethodPost, at+"/draw", body, "Idempotency-Key", fmt.Sprintf("archive-%d", k))
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("fill the archive: %d", status)
			}
			failed[n] = err
		}
	})
	return errors.Join(failed[:]...)
}

// audits requests audits and exports until auditFor is over, and counts the responses
// by status. Meanwhile each instance must be ready, and accept an operator's change.
func (t *trial) audits() (map[int]int, error) {
	ctx, cancel := context.WithTimeout(t.Ctx, auditFor)
	defer cancel()
	var mu sync.Mutex
	said := map[int]int{}
	var all sync.WaitGroup
	all.Go(func() { t.staysReady(ctx) })
	client.Parallel(auditors, func(n int) {
		for k := n; ctx.Err() == nil; k++ {
			path := []string{"/audit", "/awards"}[k/len(t.Instances)%2]
			at := t.Instances[k%len(t.Instances)].URL() + "/admin/pools/" + archive + path
			_, status, err := harness.Call(ctx, http.MethodGet, at, "", "Accept", []string{"application/json", "text/csv"}[k/len(t.Instances)%2])
			if err != nil {
				continue // its time is over, or the response was cut off
			}
			mu.Lock()
			said[status]++
			mu.Unlock()
			if status == http.StatusServiceUnavailable {
				time.Sleep(5 * time.Millisecond)
			}
		}
	})
	all.Wait()
	return said, nil
}

// staysReady keeps requesting the readiness of every instance, and makes one change.
func (t *trial) staysReady(ctx context.Context) {
	asked, slowest := 0, time.Duration(0)
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		for n, i := range t.Instances {
			began := time.Now()
			if err := i.IsReady(t.Ctx); err != nil {
				t.Verdict.Say(history.Fault, "instance %d is not ready beside audits: %v", n, err)
			}
			asked, slowest = asked+1, max(slowest, time.Since(began))
		}
		if asked == 3*len(t.Instances) {
			if err := t.Admin(http.MethodPatch, "/admin/pools/"+archive, map[string]any{"name": "Archive, read a lot"}, http.StatusOK); err != nil {
				t.Verdict.Say(history.Fault, "an operator's change beside audits: %v", err)
			}
		}
	}
	t.Note("asked %d times whether an instance is ready, the slowest answer after %d ms", asked, slowest.Milliseconds())
}
