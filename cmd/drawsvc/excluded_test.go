package main

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// TestExcludedHaveStopped: when `migrate up` has ended, no binary draws any more that
// the new schema does not admit.
func TestExcludedHaveStopped(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} { // an SQLite file has no others
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, dialect)
			old, next := on(t, url), on(t, url)
			next.schema = "excluding"
			old.ok("migrate", "up")
			old.ok("pool", "create", "spring", "--prize", "id=gold,stock=1000000")
			var migrated, stop atomic.Bool
			var drawing sync.WaitGroup
			late := make(chan string, 1)
			for i := range 3 {
				s := old.serve()
				drawing.Go(func() {
					for n := 0; !stop.Load(); n++ {
						isLate := migrated.Load()
						status, body, err := s.draw("spring", "u1", fmt.Sprint(i, "-", n))
						if isLate && (err != nil || status == http.StatusOK) {
							select {
							case late <- fmt.Sprint(body, err):
							default:
							}
						}
					}
				})
			}
			next.ok("migrate", "up")
			migrated.Store(true)
			for range 20 {
				next.ok("pool", "list")
			}
			stop.Store(true)
			drawing.Wait()
			select {
			case body := <-late:
				require.Fail(t, "a binary that is not admitted draws", body)
			default:
			}
		})
	}
}
