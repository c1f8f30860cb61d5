package cli

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seesCalendar returns a browser that shows the calendar of the Advent pool.
func seesCalendar(t *testing.T, s *service) *browser {
	t.Helper()
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/pools/advent/calendar", "Advent")
	return b
}

// intercepts makes the page's calls go through a function of the real fetch and their
// arguments.
func (b *browser) intercepts(by string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`((real) => { window.fetch = (url, options) => (%s)(real, url, options); return true; })(window.fetch)`, by))
}

// TestUIAgendaSeesMovesThatCancel: two moves of one prize at the same time, whose sum is 0,
// are shown as done after they were carried out.
func TestUIAgendaSeesMovesThatCancel(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/summer/agenda", "Summer party")
	planSoon(t, func(at time.Time) outcome {
		file := fmt.Sprintf("at,prize,delta,reason\n%[1]s,hat,5,eve\n%[1]s,hat,-5,eve\n", rfc(at))
		status, answer, err := s.ask("POST", "/admin/pools/summer/agenda/import", file, "Authorization", "Bearer admin", "Content-Type", "text/csv")
		require.NoError(t, err)
		if status != http.StatusCreated {
			return outcome{code: exitFailure, message: answer}
		}
		return outcome{}
	})
	b.await(`document.querySelectorAll(".line time").length === 2`)
	b.await(`document.querySelectorAll(".line li.done").length === 2`)
	b.quiet(0)
}
