package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

const (
	// rulesFile are the alerts that operators get.
	rulesFile = "deploy/prometheus/rules.yml"
	// shortWindow is the window of each rate in the experiment.
	shortWindow = "20s"
	// firesMax is the longest that an alert may take: the metrics of pools are read
	// every 15 s, within 10 s.
	firesMax = 45 * time.Second
)

var (
	ruleWait   = regexp.MustCompile(`(?m)^(\s+for:) \S+$`)
	ruleWindow = regexp.MustCompile(`\[\d+[smh]\]`)
	ruleAlert  = regexp.MustCompile(`(?m)^ *- alert: (\S+)$`)
)

// shortened are bounds of minutes and hours that the experiment does not wait
// for.
func shortened() [][2]string {
	return [][2]string{
		{"drawsvc_pools_read_timestamp_seconds > 120", "drawsvc_pools_read_timestamp_seconds > 20"},
		{"(drawsvc_job_overdue_seconds) > 600", "(drawsvc_job_overdue_seconds) > 2"},
		{"min(drawsvc_catalogue_age_seconds) > 43200", "min(drawsvc_catalogue_age_seconds) > 8"},
	}
}

// shortRules are the rules with their times shortened, and nothing else.
func shortRules(text string) (string, error) {
	text = ruleWindow.ReplaceAllString(ruleWait.ReplaceAllString(text, "$1 1s"), "["+shortWindow+"]")
	for _, bound := range shortened() {
		if strings.Count(text, bound[0]) != 1 {
			return "", fmt.Errorf("the rules hold %q not once", bound[0])
		}
		text = strings.Replace(text, bound[0], bound[1], 1)
	}
	return text, nil
}

// alarm is a Prometheus that scrapes all instances and a publisher, with the
// shortened rules.
type alarm struct {
	*trial
	prometheus *servertest.Server
	publisher  publisher
}

func newAlarm(t *trial) *alarm {
	text, err := os.ReadFile(rulesFile)
	t.Must(err)
	short, err := shortRules(string(text))
	t.Must(err)
	folder := t.Site.TempDir()
	file := filepath.Join(folder, "rules.yml")
	// The server has an account of its own.
	t.Must(errors.Join(os.Chmod(folder, 0o755), os.WriteFile(file, []byte(short), 0o644)))
	publisher := startPublisher(t)
	targets := []string{publisher.address}
	for _, i := range t.Instances {
		targets = append(targets, i.Address)
	}
	return &alarm{t, servertest.StartPrometheus(t.Site, file, harness.AdminToken, targets...), publisher}
}

// query counts the series that an expression has.
func (a *alarm) query(expr string) (int, error) {
	var found struct {
		Data struct {
			Result []json.RawMessage `json:"result"`
		} `json:"data"`
	}
	err := harness.FetchJSON(a.Ctx, a.prometheus.URL()+"/api/v1/query?query="+url.QueryEscape(expr), &found)
	return len(found.Data.Result), err
}

// firing is the expression for an alert that fires, with further labels.
func firing(alert, labels string) string {
	return fmt.Sprintf(`ALERTS{alertname=%q,alertstate="firing"%s}`, alert, labels)
}

// await waits until an expression has at least so many series.
func (a *alarm) await(expr string, least int) error {
	for until := time.Now().Add(firesMax); ; time.Sleep(200 * time.Millisecond) {
		n, err := a.query(expr)
		switch {
		case err != nil || n >= least:
			return err
		case time.Now().After(until):
			return fmt.Errorf("%d instead of %d series of %s after %v", n, least, expr, firesMax)
		}
	}
}
