package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// missing returns the words that a text does not have.
func missing(text string, words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return strings.Contains(text, word) })
}

// folds checks that the places which a selector finds show the service's words only
// folded under "Technical". The broken double is a page that unfolds them: it shows all.
func (b *browser) folds(selector string, words ...string) {
	b.t.Helper()
	texts := eval[struct{ Open, All string }](b, fmt.Sprintf(`(() => {
		const of = (unfold) => [...document.querySelectorAll(%q)].map((place) => {
			const copy = place.cloneNode(true);
			copy.querySelectorAll(".technical").forEach((e) => unfold ? e.replaceWith(...e.childNodes) : e.remove());
			return copy.textContent;
		}).join("\n");
		return { Open: of(false), All: of(true) };
	})()`, selector))
	require.ElementsMatch(b.t, words, missing(texts.Open, words), "%s shows the service's words:\n%s", selector, texts.Open)
	require.Empty(b.t, missing(texts.All, words), "%s:\n%s", selector, texts.All)
}

// troubled returns a service with most of the faults that the page reports in the
// service's words. It also returns these words about the audit's violation and about the
// planned item.
func troubled(t *testing.T) (s *service, violation, refusal string) {
	t.Helper()
	database := stocktest.Migrated(t, "sqlite")
	s = administeredOn(t, database, []string{"admin", "draw"}, "--hook-allow", "127.0.0.0/8", "--seal-keys", sealKeyFile(t, filepath.Join(t.TempDir(), "keys"), "k1"))
	s.admin(http.StatusCreated, "POST", "/admin/hooks", `{"url":"http://127.0.0.1:1/in"}`) // nobody listens
	planSoon(t, func(at time.Time) outcome {
		status, answer, err := s.ask("POST", "/admin/pools/spring/agenda", fmt.Sprintf(`{"at":%q,"prize":"silver","delta":-5000,"reason":"zu viel"}`, rfc(at)), "Authorization", "Bearer admin")
		require.NoError(t, err)
		if status != http.StatusCreated {
			return outcome{code: exitFailure, message: answer}
		}
		return outcome{}
	})
	tamper(t, database, `UPDATE prizes SET issued = 5 WHERE pool_id = 'summer'`)
	s.admin(http.StatusAccepted, "POST", "/admin/jobs/audit/run", "")
	var log struct {
		Entries []struct {
			Body struct{ Failed, Detail string }
		}
	}
	require.Eventually(t, func() bool {
		require.NoError(t, json.Unmarshal([]byte(s.admin(http.StatusOK, "GET", "/admin/pools/spring/log?acts=true", "")), &log))
		refusal = log.Entries[len(log.Entries)-1].Body.Detail
		return refusal != "" && strings.Contains(s.admin(http.StatusOK, "GET", "/admin/jobs/audit", ""), `"ok":false`)
	}, commandMax, 100*time.Millisecond)
	var audit struct {
		Violations []struct{ Rule, Detail string }
	}
	require.NoError(t, json.Unmarshal([]byte(s.admin(http.StatusOK, "GET", "/admin/pools/summer/audit", "")), &audit))
	tamper(t, database, `UPDATE jobs SET last_error = 'the planted disk is full' WHERE name IN ('audit', 'statement')`, `UPDATE job_runs SET result = 'failed', error = 'the planted disk is full'`)
	return s, audit.Violations[0].Detail, refusal
}

// TestUIFoldsTheServicesWords: a German browser shows sentences of its own for what an
// audit found, why a planned item, a job and a webhook failed, and for the changes of the
// log. What the service says of it in English is folded under "Technical".
func TestUIFoldsTheServicesWords(t *testing.T) {
	t.Parallel()
	source := axe(t)
	s, violation, refusal := troubled(t)
	b := browse(t, s.url, 1200, 900, speaks("de-DE,de"))
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.warns(`^Summer party: Die Prüfung fand .*\.`, true)
	b.warns(`^Die Prüfung konnte nicht laufen\.$`, true)
	b.visit("#/pools/spring", "Spring draw")
	b.warns(`^Spring draw: Der für .* geplante Termin war nicht möglich: So viel lässt sich nicht entnehmen`, true)
	b.folds(".alerts", violation, refusal, "the planted disk is full")
	b.isGerman(source, ".alerts", "the banner")

	b.visit("#/pools/spring/agenda", "Spring draw")
	b.says("nicht möglich So viel lässt sich nicht entnehmen: ein Teil davon wurde gezogen.")
	b.isGerman(source, ".body", "the agenda")
	b.visit("#/pools/spring/calendar", "Spring draw")
	b.await(`document.querySelector(".calendar tr:not(.sums) td[data-failed='-5000']").dataset.done === "0"`)
	b.says("-5.000 nicht möglich")
	b.isGerman(source, ".body", "the calendar")
	b.visit("#/pools/summer", "Summer party")
	b.press("Prüfen")
	b.await(`document.querySelector("dialog [data-rule=issued-is-awards]")`)
	b.folds("dialog", violation, "issued-is-awards")
	b.isGerman(source, "dialog", "an audit")
	b.press("Schließen")

	b.visit("#/jobs", "Wartung")
	b.says("Der Lauf ist fehlgeschlagen. Der nächste versucht es wieder.")
	b.folds("main", "the planted disk is full")
	b.isGerman(source, "main", "maintenance")
	b.press("Läufe")
	b.await(`document.querySelector("dialog tbody")`)
	b.folds("dialog", "the planted disk is full")
	b.press("Schließen")
	b.visit("#/hooks", "Webhooks")
	b.hookSays("gestört")
	b.says("keine Verbindung")
	b.folds("main", "no connection")
	logInWords(b, s, source)
	b.quiet(0)
}

// logInWords makes one change of each kind, and reads the log.
func logInWords(b *browser, s *service, source string) {
	b.t.Helper()
	for _, change := range []string{`{"state":"paused","reason":"lunch","notice":"Back soon"}`, `{"name":"Herbst"}`, `{"mode":"optimistic"}`, `{"state":"closed"}`, `{"archived":true}`, `{"archived":false}`} {
		s.admin(http.StatusOK, "PATCH", "/admin/pools/summer", change)
		if strings.Contains(change, "optimistic") {
			s.admin(http.StatusOK, "PUT", "/admin/pools/summer/rules", `{"limits":[{"of":"draws","max":1}]}`)
			s.admin(http.StatusCreated, "POST", "/admin/pools/summer/agenda", `{"at":"2999-12-05T17:00:00Z","state":"open"}`)
			s.admin(http.StatusCreated, "POST", "/admin/pools/summer/agenda/spread", `{"prize":"hat","units":9,"from":"2999-12-03T17:00:00Z","to":"2999-12-08T17:00:00Z","random":true}`)
			s.admin(http.StatusNoContent, "DELETE", "/admin/pools/summer/agenda/1", "")
		}
	}
	s.admin(http.StatusOK, "PATCH", "/admin/pools/spring/prizes/pin", `{"value":"0.60"}`)
	b.visit("#/pools/spring/log", "Spring draw")
	b.says("pin: 0,50 → 0,60")
	b.says("nicht möglich So viel lässt sich nicht entnehmen")
	b.folds(".body", "stock-below-issued", "detail: ")
	b.isGerman(source, ".body", "the log of an open campaign")
	b.visit("#/pools/summer/log", "Herbst")
	for _, says := range []string{
		"Summer party, pausiert", "pausiert. Grund: lunch. Teilnehmer sehen: Back soon", "optimistic", "ins Archiv gelegt", "wieder in Listen", "in Kraft gesetzt", "die Kampagne wird geöffnet, ", "9 Termine geplant", "1 Termin entfernt",
	} {
		b.says(says)
	}
	b.folds(".body", "state: paused", "notice: Back soon", "sha256: ", "removed: true")
	b.isGerman(source, ".body", "the log")
}
