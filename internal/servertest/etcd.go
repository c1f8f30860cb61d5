package servertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"syscall"
	"testing"
)

// Etcd returns the URL of the etcd server that the test process shares. Tests use
// distinct keys.
func Etcd(tb testing.TB) string {
	tb.Helper()
	return sharedURL(tb, "etcd")
}

func etcdKind() kind {
	return kind{
		variable: "DRAWSVC_TEST_ETCD",
		packages: "etcd-server",
		programs: map[string][]string{"etcd": {"/usr/bin/etcd"}},
		ports:    2, // for clients and peers
		command:  etcdCommand,
		environ:  etcdEnviron,
		ready:    etcdReady,
		url:      func(s *Server) string { return "etcd://" + s.Addr() },
		stop:     syscall.SIGTERM,
		discard:  syscall.SIGKILL,
	}
}

func etcdCommand(s *Server) []string {
	clients, peers := "http://"+s.Addr(), "http://"+s.ports[1].addr()
	argv := []string{s.programs["etcd"], "--name", "only", "--data-dir", s.path("data"),
		"--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
		"--initial-cluster", "only=" + peers,
		// The only member elects itself after one election timeout. A lease cannot be shorter
		// than one and a half election timeouts.
		"--heartbeat-interval", "20", "--election-timeout", "200",
	}
	return append(argv, s.options.args...)
}

// etcdEnviron disables fsync. Releases of etcd before 3.5 ignore the variable.
func etcdEnviron(s *Server) []string {
	if s.options.durable {
		return nil
	}
	return []string{"ETCD_UNSAFE_NO_FSYNC=true"}
}

func etcdReady(ctx context.Context, s *Server) error {
	said, err := answer(ctx, http.MethodGet, "http://"+s.Addr()+"/health", nil)
	if err != nil {
		return err
	}
	var health struct{ Health string }
	if err := json.Unmarshal(said, &health); err != nil {
		return err
	}
	if health.Health != "true" {
		return fmt.Errorf("its health is %q", health.Health)
	}
	return nil
}
