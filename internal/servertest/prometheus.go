package servertest

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
)

// PrometheusPackages are the packages of Prometheus and promtool.
const PrometheusPackages = "prometheus"

// StartPrometheus starts a Prometheus server. Every second it scrapes the targets,
// host:port, as the job drawsvc, and evaluates the rules of a file. It sends token to the
// targets unless token is "". Addr returns the server's address. The server is stopped
// when the test ends.
func StartPrometheus(tb testing.TB, rules, token string, targets ...string) *Server {
	tb.Helper()
	path, err := filepath.Abs(rules)
	if err != nil {
		tb.Fatal(err)
	}
	scrape := map[string]any{"job_name": "drawsvc", "static_configs": []any{map[string]any{"targets": targets}}}
	if token != "" {
		scrape["authorization"] = map[string]string{"credentials": token}
	}
	config, err := json.Marshal(map[string]any{ // JSON is also YAML
		"global":         map[string]string{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files":     []string{path},
		"scrape_configs": []any{scrape},
	})
	if err != nil {
		tb.Fatal(err)
	}
	s, err := sharedOf(tb).open("prometheus", prometheusKind(string(config)), options{})
	if err != nil {
		giveUp(tb, err)
	}
	tb.Cleanup(s.discard)
	return s
}

const prometheusConfig = "prometheus.yml"

func prometheusKind(config string) kind {
	return kind{
		packages: PrometheusPackages,
		programs: map[string][]string{"prometheus": {"/usr/bin/prometheus"}},
		ports:    1,
		setUp:    func(_ context.Context, s *Server) error { return s.write(prometheusConfig, config) },
		command: func(s *Server) []string {
			return []string{s.programs["prometheus"], "--config.file=" + s.path(prometheusConfig),
				"--storage.tsdb.path=" + s.path("data"), "--web.listen-address=" + s.Addr()}
		},
		ready:   prometheusReady,
		url:     func(s *Server) string { return "http://" + s.Addr() },
		stop:    syscall.SIGTERM,
		discard: syscall.SIGKILL,
	}
}

func prometheusReady(ctx context.Context, s *Server) error {
	_, err := answer(ctx, http.MethodGet, s.URL()+"/-/ready", nil)
	return err
}
