package experiments

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
)

const (
	// guessers ask at once, for guessFor.
	guessers = 8
	guessFor = 5 * time.Second
	// guessesRead is how many wrong tokens of an address an instance may read in
	// that time, twice as many as it should on a machine that is busy.
	guessesRead = 2 * (20 + int(guessFor/(5*time.Second)))
	// wonLeast is how many draws have to be won meanwhile.
	wonLeast = 50
)

// guessFlood sends wrong tokens from one address while others draw from another.
func guessFlood() Experiment {
	return Experiment{
		Name: "flood of wrong tokens", own: true, run: guessed,
		places: []place{{"sqlite", lockmode.ForUpdate, "", 1}, {"postgres", lockmode.ForUpdate, "", 3}, {"mysql", lockmode.ForUpdate, "", 3}},
	}
}

// from is a client whose requests come from an address of loopback.
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

// guess sends wrong tokens as fast as they are answered, and counts the
// responses by status.
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
