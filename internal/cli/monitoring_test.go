package cli

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/access"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

const (
	rulesFile     = "../../deploy/prometheus/rules.yml"
	rulesTest     = "../../deploy/prometheus/rules_test.yml"
	rulesDaysTest = "../../deploy/prometheus/rules_days_test.yml"
	dashboardFile = "../../deploy/grafana/drawsvc.json"
	runbookFile   = "../../docs/runbook.md"
	monitoringDoc = "../../docs/monitoring.md"
	// alertmanagerFile is the example of routes.
	alertmanagerFile = "../../deploy/prometheus/alertmanager.yml"
)

// runbookPrelude starts the services that a reader of the runbook has.
//
//go:embed testdata/runbook.sh
var runbookPrelude string

var (
	metricName = regexp.MustCompile(`\bdrawsvc_[a-z_]*[a-z]`)
	metricType = regexp.MustCompile(`(?m)^# TYPE (drawsvc_\S+) (\S+)$`)
	alertName  = regexp.MustCompile(`(?m)^ *- alert: (\S+)$`)
)

// liveMetrics returns the names of the metrics of an exposition with their types.
func liveMetrics(exposition string) map[string]string {
	found := map[string]string{}
	for _, m := range metricType.FindAllStringSubmatch(exposition, -1) {
		found[m[1]] = m[2]
	}
	return found
}

// sample returns the value of a metric without labels, "" if it is missing.
func sample(exposition, name string) string {
	_, rest, _ := strings.Cut(exposition, "\n"+name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// unknownMetrics returns the metrics that a text names but no service has.
func unknownMetrics(live map[string]string, text string) (unknown []string) {
	for _, name := range metricName.FindAllString(text, -1) {
		base := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if of, is := strings.CutSuffix(name, suffix); is && live[of] == "histogram" {
				base = of
			}
		}
		if live[base] == "" && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// settled returns the exposition of the metrics after each job has run, so that all
// metrics exist.
func settled(t *testing.T, s *service) (exposition string) {
	t.Helper()
	require.Eventually(t, func() bool {
		body, err := s.metrics()
		exposition = body
		return err == nil && strings.Contains(body, "drawsvc_job_last_success_timestamp_seconds{") && strings.Contains(body, "drawsvc_pools_read_timestamp_seconds ")
	}, commandMax, 100*time.Millisecond)
	return exposition
}

// TestMetricsAreThoseThatAreNamed: every metric that the dashboard, the rules and the
// pages name exists, and every existing metric is documented.
func TestMetricsAreThoseThatAreNamed(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve("--mode", "external", "--seal-keys", sealKeyFile(t, filepath.Join(t.TempDir(), "keys"), "k1"), "--hook-allow", "127.0.0.0/8", "--metrics-by-pool")
	s.admin(201, "POST", "/admin/hooks", `{"url":"http://127.0.0.1:1/"}`) // nobody listens
	s.admin(201, "POST", "/admin/pools", `{"id":"paid","name":"Paid","prizes":[{"id":"none","name":"None","kind":"blank"}],"rules":{"fallback":"none","budget":{"max":"10.00"}}}`)
	s.wonByLock("spring", "u1", "")
	status, answer, err := s.ask("POST", "/admin/jobs/audit/run", "", "Authorization", "Bearer "+s.token)
	require.NoError(t, err)
	require.Contains(t, []int{202, 409}, status, answer) // 409: it is running already, by its schedule
	require.Eventually(t, func() bool { return strings.Contains(settled(t, s), "drawsvc_hook_state{") }, commandMax, time.Second)
	live := liveMetrics(settled(t, s))
	_, identity := keyFiles(t)
	_, published := p.publisher("--dir", t.TempDir(), "--seed-identity-file", identity)
	for name, kind := range liveMetrics(metricsOf(t, published)) {
		live[name] = kind
	}
	for _, file := range []string{rulesFile, rulesTest, rulesDaysTest, dashboardFile, runbookFile, monitoringDoc} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotEmpty(t, metricName.FindAllString(string(text), -1), file)
		require.Empty(t, unknownMetrics(live, string(text)), file)
	}
	page, err := os.ReadFile(monitoringDoc)
	require.NoError(t, err)
	documented := metricName.FindAllString(string(page), -1)
	for name := range live {
		require.Contains(t, documented, name, "docs/monitoring.md does not explain it")
	}
	// The broken double has names that no service has; the test finds them.
	require.Equal(t, []string{"drawsvc_draws", "drawsvc_ready_count"},
		unknownMetrics(live, "rate(drawsvc_draws{}[5m]) drawsvc_batch_draws_sum drawsvc_ready_count drawsvc_ready drawsvc_draws"))
}

// TestRecordedSeriesExist: every series that an alert or a panel reads from a recording
// rule is recorded.
func TestRecordedSeriesExist(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	dashboard, err := os.ReadFile(dashboardFile)
	require.NoError(t, err)
	require.Empty(t, unrecorded(string(rules), string(rules)+string(dashboard)))
	require.Equal(t, []string{"drawsvc:draws:rate7m"}, unrecorded(string(rules), string(dashboard)+" drawsvc:draws:rate7m"), "the double")
}

var recordedName = regexp.MustCompile(`\bdrawsvc:[a-z_0-9:]+`)

// unrecorded returns the names in a text that have the form of recorded series, but that
// the rules do not record.
func unrecorded(rules, text string) (unknown []string) {
	for _, name := range recordedName.FindAllString(text, -1) {
		if !strings.Contains(rules, "- record: "+name+"\n") {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// TestPoolMetrics: the metrics have the counts of the database, and the number of series
// is bounded.
func TestPoolMetrics(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	p.ok("pool", "create", "paused", "--prize", "id=gold,stock=3")
	p.ok("pool", "pause", "paused")
	text := settled(t, p.serve())
	require.Contains(t, text, `drawsvc_pool_remaining{pool="spring"} `)
	require.NotContains(t, text, "drawsvc_pool_queue_draws", "only with --metrics-by-pool")
	require.NotContains(t, text, `{pool="paused"}`)
	require.Contains(t, text, "drawsvc_ready 1\n")
	require.Contains(t, text, "drawsvc_build_info{")
}

// TestAlertRules: promtool accepts the rules. Each alert has a test in which it fires, a
// test in which it is silent, and a section of the runbook that states what to do.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	servertest.NeedPrograms(t, servertest.PrometheusPackages, "promtool")
	promtool := func(dir string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := promtool(filepath.Dir(rulesFile), "check", "rules", "rules.yml")
	require.NoError(t, err, out)
	out, err = promtool(filepath.Dir(rulesFile), "test", "rules", "rules_test.yml", "rules_days_test.yml")
	require.NoError(t, err, out)

	rules, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	tests, err := os.ReadFile(rulesTest)
	require.NoError(t, err)
	ofDays, err := os.ReadFile(rulesDaysTest)
	require.NoError(t, err)
	cases := string(tests) + string(ofDays)
	runbook, err := os.ReadFile(runbookFile)
	require.NoError(t, err)
	page, err := os.ReadFile(monitoringDoc)
	require.NoError(t, err)
	alerts := alertName.FindAllStringSubmatch(string(rules), -1)
	require.NotEmpty(t, alerts)
	for _, alert := range alerts {
		name := alert[1]
		require.Contains(t, cases, "name: "+name+", fires\n")
		require.Contains(t, cases, "name: "+name+", is silent\n")
		require.Contains(t, string(rules), "runbook_url: docs/runbook.md#"+strings.ToLower(name)+"\n")
		require.Contains(t, string(page), "["+name+"](runbook.md#"+strings.ToLower(name)+")", "the list of docs/monitoring.md")
		_, section, found := strings.Cut(string(runbook), "\n## "+name+"\n")
		require.True(t, found, "the runbook has no section %s", name)
		section, _, _ = strings.Cut(section, "\n## ")
		require.NoError(t, checkSection(section), name)
	}

	// The broken double is a rule with another bound, which fails its test. Only that test
	// is run, because all tests take ten seconds of processor time.
	const begin = "  - name: DrawsvcLatency, fires\n"
	head, _, _ := strings.Cut(string(tests), "  - name: ")
	_, test, found := strings.Cut(string(tests), begin)
	require.True(t, found)
	test, _, _ = strings.Cut(test, "  - name: ")
	dir := t.TempDir()
	broken := strings.Replace(string(rules), "> 0.25", "> 0.75", 1)
	require.NotEqual(t, string(rules), broken)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), []byte(broken), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules_test.yml"), []byte(head+begin+test), 0o600))
	out, err = promtool(dir, "test", "rules", "rules_test.yml")
	require.Error(t, err)
	require.Contains(t, out, "DrawsvcLatency")
}

// checkSection reports the parts that a section of the runbook lacks. TestPages
// executes its blocks.
func checkSection(section string) error {
	for _, part := range []string{"**See:** ", "**Mean:** ", "**Do:**\n\n1. ", "\n```sh\n"} {
		if !strings.Contains(section, part) {
			return fmt.Errorf("it has no %q", part)
		}
	}
	return nil
}

// TestRunbookSectionsAreChecked: a section whose commands are not executed is found.
func TestRunbookSectionsAreChecked(t *testing.T) {
	t.Parallel()
	const text = "**See:** It.\n\n**Mean:** It.\n\n**Do:**\n\n1. It.\n"
	require.NoError(t, checkSection(text+"\n```sh\ntrue\n```\n"))
	require.Error(t, checkSection(text))
	require.Error(t, checkSection(text+"\n```sh not run: why\ntrue\n```\n"))
}

// TestDashboard: Grafana can import the file.
func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(dashboardFile)
	require.NoError(t, err)
	var dashboard struct {
		UID    string
		Panels []struct {
			ID       int
			Title    string
			Type     string
			Interval string
			Targets  []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.Equal(t, "drawsvc", dashboard.UID)
	seen := map[int]bool{}
	for _, p := range dashboard.Panels {
		require.NotEmpty(t, p.Targets, p.Title)
		require.False(t, seen[p.ID], "two panels have the number %d", p.ID)
		seen[p.ID] = true
		for _, target := range p.Targets {
			require.NoError(t, checkRate(p.Type, p.Interval, target.Expr), p.Title)
		}
	}
	require.NotEmpty(t, seen)
	for _, title := range []string{
		"Refusals per second, by code", "Waiting draws by pool", "Lag of published logs", "Agenda items per minute", "Refused tokens per second",
		"Standbys of the database", "Database errors per second, by reason",
	} {
		require.Contains(t, string(text), `"title": "`+title+`"`)
	}
	require.Error(t, checkRate("timeseries", "15s", "rate(drawsvc_draws_total[5m])"), "the double")
	require.Error(t, checkRate("timeseries", "", "irate(drawsvc_draws_total[1m])"), "the double")
}

var rateWindow = regexp.MustCompile(`\b(?:rate|irate|increase)\([^\[]*\[([^\]]+)\]`)

// checkRate returns an error if a panel hides a rush of a minute. A panel hides it if
// its rates are over more than a minute, or if its points are more than 15 s apart.
func checkRate(kind, interval, expr string) error {
	if kind == "timeseries" && interval != "15s" {
		return fmt.Errorf("its points are %q apart", interval)
	}
	for _, found := range rateWindow.FindAllStringSubmatch(expr, -1) {
		if found[1] != "1m" {
			return fmt.Errorf("%s is over %s", found[0], found[1])
		}
	}
	return nil
}

// TestAlertmanagerExample: amtool accepts the example, and each severity of the rules
// reaches its receiver.
func TestAlertmanagerExample(t *testing.T) {
	t.Parallel()
	servertest.NeedPrograms(t, "prometheus-alertmanager", "amtool")
	amtool := func(args ...string) (string, error) {
		var said bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "amtool", args...)
		cmd.Stdout, cmd.Stderr = &said, io.Discard // amtool warns of its own flags
		err := cmd.Run()
		return strings.TrimSpace(said.String()), err
	}
	out, err := amtool("check-config", alertmanagerFile)
	require.NoError(t, err, out)
	rules, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	for name, severity := range alertSeverities(string(rules)) {
		out, err := amtool("config", "routes", "test", "--config.file="+alertmanagerFile, "alertname="+name, "severity="+severity)
		require.NoError(t, err)
		require.Equal(t, severity == "page", slices.Contains(strings.Split(out, ","), "on-call"), "%s: %s", name, out)
		require.Equal(t, severity == "ticket", slices.Contains(strings.Split(out, ","), "tickets"), "%s: %s", name, out)
	}
	example, err := os.ReadFile(alertmanagerFile)
	require.NoError(t, err)
	names := slices.Collect(maps.Keys(alertSeverities(string(rules))))
	require.Empty(t, unknownAlerts(names, string(example)))
	require.Equal(t, []string{"DrawsvcDwon"}, unknownAlerts(names, `alertname=~"DrawsvcDown|DrawsvcDwon"`), "the double")

	broken := filepath.Join(t.TempDir(), "alertmanager.yml")
	require.NoError(t, os.WriteFile(broken, bytes.Replace(example, []byte("- name: studio"), []byte("- name: stage"), 1), 0o600))
	_, err = amtool("check-config", broken)
	require.Error(t, err, "a route without its receiver")
}

var alertRule = regexp.MustCompile(`(?s)- alert: (\S+)\n.*?severity: (\w+)`)

// alertSeverities returns the severity of each alert.
func alertSeverities(rules string) map[string]string {
	found := map[string]string{}
	for _, m := range alertRule.FindAllStringSubmatch(rules, -1) {
		found[m[1]] = m[2]
	}
	return found
}

var wholeAlert = regexp.MustCompile(`\bDrawsvc[A-Za-z]+\b`)

// unknownAlerts returns the alerts that a text mentions, but that are not in names.
func unknownAlerts(names []string, text string) (unknown []string) {
	for _, name := range wholeAlert.FindAllString(text, -1) {
		if !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// asked calls the interface of Prometheus, and decodes the answer.
func asked(t *testing.T, prometheus *servertest.Server, path string, into any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, prometheus.URL()+path, nil)
	require.NoError(t, err)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode, path)
	require.NoError(t, json.NewDecoder(response.Body).Decode(into))
}

// series is the answer to a query.
type series struct {
	Data struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
}

// TestPrometheusScrapes: a real Prometheus reads three instances, evaluates each rule
// and each panel without an error, and fires for a sold-out pool.
func TestPrometheusScrapes(t *testing.T) {
	t.Parallel()
	p := on(t, stocktest.Migrated(t, "postgres"))
	p.ok("migrate", "up")
	p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1")
	one := p.serve("--metrics-listen", "127.0.0.1:0")
	one.won("spring", "u1", "")
	targets := []string{one.metricsAddress()}
	for range 2 { // these instances start after the win, and read the pools then
		targets = append(targets, p.serve("--metrics-listen", "127.0.0.1:0").metricsAddress())
	}
	prometheus := servertest.StartPrometheus(t, rulesFile, "", targets...)
	query := func(expr string) (found series) {
		asked(t, prometheus, "/api/v1/query?query="+url.QueryEscape(expr), &found)
		return found
	}
	require.Eventually(t, func() bool {
		found := query(`ALERTS{alertname="DrawsvcSoldOut",alertstate="firing",pool="spring"}`)
		return len(found.Data.Result) == 1
	}, commandMax, 200*time.Millisecond)
	require.Eventually(t, func() bool { return len(query(`drawsvc_ready == 1`).Data.Result) == len(targets) }, commandMax, 200*time.Millisecond)

	require.Eventually(t, func() bool { return rulesAreWell(t, prometheus) }, commandMax, 200*time.Millisecond)
	text, err := os.ReadFile(dashboardFile)
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			query(strings.NewReplacer("$job", ".+", "$pool", ".+").Replace(target.Expr)) // must be answered 200
		}
	}
}

// TestAlertsAreSilentWhileIdle: no alert fires or waits to fire for an idle service
// that is healthy, and the same rules fire for it once a token of one of its callers
// has expired.
func TestAlertsAreSilentWhileIdle(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "postgres"))
	tokens := filepath.Join(t.TempDir(), "tokens.json")
	expired, made, err := access.Generate("shop", access.Draw, time.Now().Add(-time.Hour))
	require.NoError(t, err)
	entry, err := access.FileEntry(&made)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(tokens, []byte(`{"tokens":[`+entry+`]}`), 0o600))
	s := p.serve("--metrics-listen", "127.0.0.1:0", "--tokens", tokens)
	settled(t, s)
	prometheus := servertest.StartPrometheus(t, withoutWaits(t), "", s.metricsAddress())
	alerts := func() (names []string) {
		var found series
		asked(t, prometheus, "/api/v1/query?query=ALERTS", &found)
		for _, one := range found.Data.Result {
			names = append(names, one.Metric["alertname"])
		}
		return names
	}
	require.Eventually(t, func() bool { return rulesAreWell(t, prometheus) }, commandMax, 200*time.Millisecond)
	var scraped series
	require.Eventually(t, func() bool { // each rule has seen as many scrapes as its rates need
		asked(t, prometheus, "/api/v1/query?query="+url.QueryEscape(`count_over_time(drawsvc_ready[1m]) > 5`), &scraped)
		return len(scraped.Data.Result) == 1
	}, commandMax, 200*time.Millisecond)
	silent := 0
	require.Eventually(t, func() bool { // before the first scrape, and after a late scrape, alerts about missing instances fire
		found := alerts()
		if silent++; len(found) > 0 {
			silent = 0
		}
		require.Subset(t, []string{"DrawsvcDown", "DrawsvcNoTarget"}, found)
		return silent == 10
	}, commandMax, 200*time.Millisecond)
	// The control: the same rules find a fault.
	require.Eventually(t, func() bool {
		status, _, err := s.ask("GET", "/pools/spring", "", "Authorization", "Bearer "+expired)
		return err == nil && status == http.StatusUnauthorized && slices.Equal(alerts(), []string{"DrawsvcTokensRefused"})
	}, commandMax, 500*time.Millisecond)
}

// withoutWaits writes the rules without their waits, so that an alert fires at once.
func withoutWaits(t *testing.T) string {
	rules, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	folder := t.TempDir()
	file := filepath.Join(folder, "rules.yml")
	require.NoError(t, os.WriteFile(file, regexp.MustCompile(`(?m)^ +for: \S+\n`).ReplaceAll(rules, nil), 0o600))
	require.NoError(t, os.Chmod(file, 0o644)) // the server may run under another account
	require.NoError(t, os.Chmod(folder, 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(folder), 0o755))
	return file
}

// rulesAreWell reports whether all rules were evaluated without an error.
func rulesAreWell(t *testing.T, prometheus *servertest.Server) bool {
	var rules struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Health, LastError string }
			}
		}
	}
	asked(t, prometheus, "/api/v1/rules", &rules)
	for _, group := range rules.Data.Groups {
		for _, rule := range group.Rules {
			require.Empty(t, rule.LastError)
			if rule.Health != "ok" {
				return false
			}
		}
	}
	return len(rules.Data.Groups) > 0
}
