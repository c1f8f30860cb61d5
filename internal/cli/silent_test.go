package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// silentFor is how long the link to the database carries nothing: longer than two
// requests may take, so that draws wait after batches that failed.
const silentFor = 12 * time.Second

// TestSilentLinkIsUnavailable: while a link to the database swallows all packets, draws
// are answered that the database does not answer. Those that wait after a failed batch,
// and are never in one, do not hear that the pool is contended. A TestedDouble keeps the
// reason of a batch to itself.
func TestSilentLinkIsUnavailable(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.Migrated(t, dialect)
			spring(t, url)
			link := servertest.StartProxy(t, url)
			s := on(t, link.URL()).serve("--batch-max", "2")
			s.won("spring", "u", "before")
			link.Hold()
			codes := drawWhileSilent(s)
			link.Pass()
			s.drawUntil(200, func() {})
			t.Logf("answers: %v", codes)
			require.NotEmpty(t, codes["store-unavailable"], codes)
			unexpected := maps.Clone(codes)
			for _, fits := range []string{"store-unavailable", "outcome-unknown", "overloaded"} {
				delete(unexpected, fits)
			}
			require.Empty(t, unexpected)
		})
	}
}

// drawWhileSilent draws at a steady pace until the silence ends, and counts the codes of
// the answers.
func drawWhileSilent(s *service) map[string]int {
	var mu sync.Mutex
	var all sync.WaitGroup
	codes := map[string]int{}
	for n := range int(silentFor / (250 * time.Millisecond)) {
		all.Go(func() {
			_, body, err := s.draw("spring", "u", fmt.Sprintf("silent-%d", n))
			var problem struct{ Code string }
			if err == nil {
				err = json.Unmarshal([]byte(body), &problem)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				problem.Code = err.Error()
			}
			codes[problem.Code]++
		})
		time.Sleep(250 * time.Millisecond)
	}
	all.Wait()
	return codes
}
