package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// silentFor is how long the link to the database drops all packets. It is longer than two
// request timeouts, so that some draws wait while earlier batches fail.
const silentFor = 12 * time.Second

// TestSilentLinkIsUnavailable: while a link to the database drops all packets, the
// answers to draws state that the database does not answer, or that the outcome is
// unknown. If a draw waits after a failed batch, and never gets into a batch, its answer
// does not state that the pool is contended.
func TestSilentLinkIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.Migrated(t, dialect)
			on(t, url).ok("pool", "create", "spring", "--prize", "id=gold,stock=1000000")
			link := servertest.StartProxy(t, url)
			s := on(t, link.URL()).serve("--batch-max", "1", "--request-timeout", "5s")
			codes := drawWhileSilent(s, link)
			link.Pass()
			s.drawUntil(200, func() {})
			t.Logf("answers: %v", codes)
			require.NoError(t, fitsSilence(codes))
		})
	}
	require.Error(t, fitsSilence(map[string]int{"": 500, "store-unavailable": 2, "contended": 14}), "as it was")
	require.Error(t, fitsSilence(map[string]int{"": 500}), "the link was not silent")
}

// silentCallers is how many callers draw at once.
const silentCallers = 8

// fitsSilence returns what is wrong with the answers that draws got while the database
// was silent.
func fitsSilence(codes map[string]int) error {
	unexpected := maps.Clone(codes)
	for _, fits := range []string{"", "store-unavailable", "outcome-unknown"} {
		delete(unexpected, fits)
	}
	if len(unexpected) > 0 || codes["store-unavailable"] == 0 {
		return fmt.Errorf("unexpected answers: %v", codes)
	}
	return nil
}

// drawWhileSilent makes callers draw concurrently and repeatedly, until the link was
// silent for a while. It counts the codes of the answers; a draw that wins has no code.
// One draw is in a batch, and the others wait in the queue. Before the first batch has
// failed, the service cannot report that the database is silent. So draws that time out
// before that, on a busy machine, are not counted.
func drawWhileSilent(s *service, link *servertest.Proxy) map[string]int {
	var mu sync.Mutex
	var all sync.WaitGroup
	var hasFailed atomic.Bool
	codes := map[string]int{}
	until := time.Now().Add(silentFor + time.Second)
	for caller := range silentCallers {
		all.Go(func() {
			for n := 0; time.Now().Before(until); n++ {
				hasReason := hasFailed.Load()
				_, body, err := s.draw("spring", "u", fmt.Sprintf("silent-%d-%d", caller, n))
				var problem struct{ Code string }
				if err == nil {
					err = json.Unmarshal([]byte(body), &problem)
				}
				if err != nil {
					problem.Code = err.Error()
				}
				if problem.Code == "store-unavailable" {
					hasFailed.Store(true)
					time.Sleep(10 * time.Millisecond) // a refusal takes no time
				}
				if !hasReason && (problem.Code == "contended" || problem.Code == "overloaded") {
					continue
				}
				mu.Lock()
				codes[problem.Code]++
				mu.Unlock()
			}
		})
	}
	time.Sleep(time.Second)
	link.Hold() // while a draw is written
	all.Wait()
	return codes
}
