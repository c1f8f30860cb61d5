package cli

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// drawnBehind draws on three instances and excludes them. It returns an award that was
// requested after the exclusion, "" for none.
func drawnBehind(t *testing.T, old program, exclude func()) string {
	old.ok("migrate", "up")
	old.ok("pool", "create", "spring", "--prize", "id=gold,stock=1000000")
	var excluded, stop atomic.Bool
	var drawing sync.WaitGroup
	late := make(chan string, 3)
	for i := range cap(late) {
		s := old.serve()
		drawing.Go(func() {
			for n := 0; !stop.Load(); n++ {
				time.Sleep(drawPause)
				isLate := excluded.Load()
				status, body, err := s.draw("spring", "u1", fmt.Sprint(i, "-", n))
				if isLate && (err != nil || status == http.StatusOK) {
					late <- fmt.Sprint(body, err)
					return
				}
			}
		})
	}
	exclude()
	excluded.Store(true)
	for range 20 {
		old.run("migrate", "status") // only to let a moment pass
	}
	stop.Store(true)
	drawing.Wait()
	select {
	case body := <-late:
		return body
	default:
		return ""
	}
}

// killedBehind starts `migrate up`, and kills it as soon as it has excluded other
// binaries.
func killedBehind(t *testing.T, next program, url string) {
	up := next.command("migrate", "up")
	require.NoError(t, up.Start())
	db := rows(t, url)
	require.Eventually(t, func() bool {
		var from int64
		return db.QueryRowContext(t.Context(), `SELECT binaries_from FROM schema_admits`).Scan(&from) == nil && from == next.knows()
	}, commandMax, time.Millisecond)
	require.NoError(t, up.Process.Kill())
	_ = up.Wait() // it was killed
}

// TestExcludedHaveStopped: when `migrate up` has ended, no binary that the new schema
// does not permit draws any more. An exclusion without a wait is found.
func TestExcludedHaveStopped(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} { // an SQLite file is used by only one binary at a time
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, dialect)
			old, next := on(t, url), on(t, url)
			next.schema = "excluding"
			require.Empty(t, drawnBehind(t, old, func() { next.ok("migrate", "up") }))
		})
		t.Run(dialect+" behind one that was killed", func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, dialect)
			old, next := on(t, url), on(t, url)
			next.schema = "excluding"
			require.Empty(t, drawnBehind(t, old, func() {
				killedBehind(t, next, url)
				require.Equal(t, exitOK, next.run("migrate", "up").code)
			}))
		})
	}
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		late := ""
		for n := 0; n < 5 && late == ""; n++ { // on a busy machine an instance may notice before anybody draws
			url := stocktest.URL(t, "postgres")
			old := on(t, url)
			late = drawnBehind(t, old, func() {
				tamper(t, url, fmt.Sprintf(`UPDATE schema_admits SET binaries_from = %d`, old.knows()+1))
			})
		}
		require.NotEmpty(t, late)
	})
}
