package cli

import (
	"encoding/json"
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

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

const (
	rulesFile     = "../../deploy/prometheus/rules.yml"
	rulesTest     = "../../deploy/prometheus/rules_test.yml"
	dashboardFile = "../../deploy/grafana/drawsvc.json"
	runbookFile   = "../../docs/runbook.md"
	monitoringDoc = "../../docs/monitoring.md"
)

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

// settled returns an exposition after each job has run, so that all metrics exist.
func settled(t *testing.T, s *service) (exposition string) {
	t.Helper()
	require.Eventually(t, func() bool {
		body, err := s.metrics()
		exposition = body
		return err == nil && strings.Contains(body, "drawsvc_job_last_success_timestamp_seconds{") && strings.Contains(body, "drawsvc_pools_read_timestamp_seconds ")
	}, commandMax, 100*time.Millisecond)
	return exposition
}

// TestMetricsAreThoseThatAreNamed: every metric that dashboard, rules and pages name
// exists, and every existing one is documented.
func TestMetricsAreThoseThatAreNamed(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve("--mode", "external", "--seal-keys", sealKeyFile(t, filepath.Join(t.TempDir(), "keys"), "k1"), "--hook-allow", "127.0.0.0/8")
	s.admin(201, "POST", "/admin/hooks", `{"url":"http://127.0.0.1:1/"}`) // nobody listens
	s.admin(201, "POST", "/admin/pools", `{"id":"paid","name":"Paid","prizes":[{"id":"none","name":"None","kind":"blank"}],"rules":{"fallback":"none","budget":{"max":"10.00"}}}`)
	s.wonByLock("spring", "u1", "")
	status, answer, err := s.ask("POST", "/admin/jobs/audit/run", "", "Authorization", "Bearer "+s.token)
	require.NoError(t, err)
	require.Contains(t, []int{202, 409}, status, answer) // 409: its schedule runs it just now
	require.Eventually(t, func() bool { return strings.Contains(settled(t, s), "drawsvc_hook_state{") }, commandMax, time.Second)
	live := liveMetrics(settled(t, s))
	_, identity := keyFiles(t)
	_, published := p.publisher("--dir", t.TempDir(), "--seed-identity-file", identity)
	for name, kind := range liveMetrics(metricsOf(t, published)) {
		live[name] = kind
	}
	for _, file := range []string{rulesFile, rulesTest, dashboardFile, runbookFile, monitoringDoc} {
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
	// The double: names that no service has are found.
	require.Equal(t, []string{"drawsvc_draws", "drawsvc_ready_count"},
		unknownMetrics(live, "rate(drawsvc_draws{}[5m]) drawsvc_batch_draws_sum drawsvc_ready_count drawsvc_ready drawsvc_draws"))
}

// TestPoolMetrics: the counts are the database's, and their number is bounded.
func TestPoolMetrics(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	p.ok("pool", "create", "paused", "--prize", "id=gold,stock=3")
	p.ok("pool", "pause", "paused")
	text := settled(t, p.serve())
	require.Contains(t, text, `drawsvc_pool_remaining{pool="spring"} `)
	require.NotContains(t, text, `{pool="paused"}`)
	require.Contains(t, text, "drawsvc_ready 1\n")
	require.Contains(t, text, "drawsvc_build_info{")
}

// TestRules: promtool accepts the rules; each alert has a test that it fires and one
// that it is silent, and a section of the runbook that states what to do.
func TestRules(t *testing.T) {
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
	out, err = promtool(filepath.Dir(rulesFile), "test", "rules", "rules_test.yml")
	require.NoError(t, err, out)

	rules, err := os.ReadFile(rulesFile)
	require.NoError(t, err)
	tests, err := os.ReadFile(rulesTest)
	require.NoError(t, err)
	runbook, err := os.ReadFile(runbookFile)
	require.NoError(t, err)
	page, err := os.ReadFile(monitoringDoc)
	require.NoError(t, err)
	alerts := alertName.FindAllStringSubmatch(string(rules), -1)
	require.NotEmpty(t, alerts)
	for _, alert := range alerts {
		name := alert[1]
		require.Contains(t, string(tests), "name: "+name+", fires\n")
		require.Contains(t, string(tests), "name: "+name+", is silent\n")
		require.Contains(t, string(rules), "runbook_url: docs/runbook.md#"+strings.ToLower(name)+"\n")
		require.Contains(t, string(page), "["+name+"](runbook.md#"+strings.ToLower(name)+")", "the list of docs/monitoring.md")
		_, section, found := strings.Cut(string(runbook), "\n## "+name+"\n")
		require.True(t, found, "the runbook has no section %s", name)
		section, _, _ = strings.Cut(section, "\n## ")
		for _, part := range []string{"**See:** ", "**Mean:** ", "**Do:**\n\n1. "} {
			require.Contains(t, section, part, name)
		}
	}

	// The double: a rule with another bound fails its test.
	dir := t.TempDir()
	broken := strings.Replace(string(rules), "> 0.25", "> 0.75", 1)
	require.NotEqual(t, string(rules), broken)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), []byte(broken), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules_test.yml"), tests, 0o600))
	out, err = promtool(dir, "test", "rules", "rules_test.yml")
	require.Error(t, err)
	require.Contains(t, out, "DrawsvcLatency")
}

// TestDashboard: Grafana can import the file.
func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(dashboardFile)
	require.NoError(t, err)
	var dashboard struct {
		UID    string
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	require.Equal(t, "drawsvc", dashboard.UID)
	seen := map[int]bool{}
	for _, p := range dashboard.Panels {
		require.NotEmpty(t, p.Targets, p.Title)
		require.False(t, seen[p.ID], "two panels have the number %d", p.ID)
		seen[p.ID] = true
	}
	require.NotEmpty(t, seen)
}

// asked decodes Prometheus's answer to a call of its interface.
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
	for range 2 { // they read their pools after the win
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

// rulesAreWell reports whether each rule was evaluated without an error.
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
