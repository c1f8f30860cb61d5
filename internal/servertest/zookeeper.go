package servertest

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// ZooKeeper returns a URL on the ZooKeeper server that the test process shares. The URL's
// path does not exist yet, and no other test has it. On a server that the environment
// names, the test's nodes remain.
func ZooKeeper(tb testing.TB) string {
	tb.Helper()
	return strings.TrimSuffix(sharedURL(tb, "zookeeper"), "/") + "/drawsvc-" + strings.ToLower(secret())
}

func zookeeperKind() kind {
	return kind{
		variable: "DRAWSVC_TEST_ZOOKEEPER",
		packages: "libzookeeper-java default-jre-headless",
		programs: map[string][]string{
			"java":          {},
			"zookeeper.jar": {"/usr/share/java/zookeeper.jar"},
		},
		ports:   1,
		setUp:   setUpZooKeeper,
		command: zookeeperCommand,
		ready:   zookeeperReady,
		url:     func(s *Server) string { return "zookeeper://" + s.Addr() },
		stop:    syscall.SIGTERM,
		discard: syscall.SIGKILL,
	}
}

// setUpZooKeeper writes the configuration. It allows short sessions, so that tests can
// see them expire. It also allows sessions as long as a lease in production.
func setUpZooKeeper(_ context.Context, s *Server) error {
	lines := []string{
		"dataDir=" + s.path("data"),
		"clientPortAddress=127.0.0.1", fmt.Sprintf("clientPort=%d", s.ports[0].number),
		"tickTime=100", "minSessionTimeout=200", "maxSessionTimeout=60000",
		"maxClientCnxns=0", "admin.enableServer=false", "4lw.commands.whitelist=srvr",
	}
	for _, arg := range s.options.args {
		if !strings.HasPrefix(arg, "-") {
			lines = append(lines, arg)
		}
	}
	return s.write("zoo.cfg", strings.Join(lines, "\n")+"\n")
}

func zookeeperCommand(s *Server) []string {
	argv := []string{s.programs["java"], "-cp", s.programs["zookeeper.jar"],
		"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-XX:-UsePerfData",               // otherwise it would leave a file in /tmp
		"-Dzookeeper.preAllocSize=64",    // KiB of log at a time, instead of 64 MiB
		"-Djava.io.tmpdir=" + s.path(""), // the JVM does not read TMPDIR
	}
	if !s.options.durable {
		argv = append(argv, "-Dzookeeper.forceSync=no")
	}
	for _, arg := range s.options.args {
		if strings.HasPrefix(arg, "-") {
			argv = append(argv, arg)
		}
	}
	return append(argv, "org.apache.zookeeper.server.quorum.QuorumPeerMain", s.path("zoo.cfg"))
}

// zookeeperReady sends a four-letter word. A server that is not ready answers without the
// mode.
func zookeeperReady(ctx context.Context, s *Server) error {
	return ask(ctx, s.Addr(), "srvr", "Mode: ")
}
