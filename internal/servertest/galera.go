package servertest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// StartGalera starts a cluster of MariaDB nodes that replicate to each other. All are
// writable, and every time limit is Galera's default. The first node creates the cluster.
// Each further node copies its data from another one, which takes about 10 s. StartGalera
// returns when all are in sync. A node that was killed or stopped rejoins the running
// nodes when it is started again. All are killed and removed when the test ends.
func StartGalera(tb testing.TB, nodes int, opts ...Option) []*Server {
	tb.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	sh := sharedOf(tb)
	c := &galera{}
	for range nodes {
		s, err := sh.open("galera", c.kind(), o)
		if err != nil {
			giveUp(tb, err)
		}
		tb.Cleanup(s.discard)
	}
	for _, s := range c.nodes {
		if err := c.awaitWhole(s); err != nil {
			giveUp(tb, fmt.Errorf("%s of %d nodes: %w\n%s", s.name, nodes, err, s.tail()))
		}
	}
	return slices.Clone(c.nodes)
}

// awaitWhole waits until a node knows all others and is up to date. A node that has just
// given its data to another one may answer before that.
func (c *galera) awaitWhole(s *Server) error {
	const status = "SELECT variable_value FROM information_schema.global_status WHERE variable_name = "
	whole := fmt.Sprintf("IF (%s'wsrep_cluster_size') <> %d OR (%s'wsrep_local_state_comment') <> 'Synced' THEN "+
		"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'the node is not in step with its cluster'; END IF", status, len(c.nodes), status)
	ctx, cancel := context.WithTimeout(context.Background(), readyMax)
	defer cancel()
	for {
		err := executeMySQL(ctx, s.URL(), whole)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// galera is a cluster. Its nodes are started one at a time.
type galera struct{ nodes []*Server }

// The ports of a node, in order.
const (
	_ = iota // for clients
	portGroup
	portIncrements
	portCopies
	galeraPorts
)

func (c *galera) kind() kind {
	k := mysqlKind()
	k.packages = "mariadb-server galera-4 rsync"
	k.programs["libgalera_smm.so"] = []string{"/usr/lib/galera/libgalera_smm.so"}
	k.programs["rsync"] = []string{"/usr/bin/rsync"}
	k.ports = galeraPorts
	k.setUp = c.setUp
	k.command = c.command
	k.ready = func(ctx context.Context, s *Server) error {
		return executeMySQL(ctx, s.URL(), "DO (SELECT count(*) FROM mysql.global_priv)") // a node outside its cluster refuses this statement
	}
	return k
}

// setUp creates the data of the first node. The others copy the data.
func (c *galera) setUp(ctx context.Context, s *Server) error {
	c.nodes = append(c.nodes, s)
	if len(c.nodes) == 1 {
		return setUpMySQL(ctx, s)
	}
	if err := s.write("password", c.nodes[0].password()); err != nil {
		return err
	}
	if err := os.Mkdir(s.path("data"), 0o700); err != nil {
		return err
	}
	return giveAway(s.path("data"))
}

func (c *galera) command(s *Server) []string {
	group := func(s *Server) string { return s.ports[portGroup].addr() }
	var others []string
	for _, node := range c.nodes {
		if node != s {
			node.act(func(*process) { others = append(others, group(node)) })
		}
	}
	argv := mysqlCommand(s)
	if s != c.nodes[0] || len(others) > 0 {
		// A joining node copies the accounts from another node. A statement that creates them
		// would come too early.
		argv = slices.DeleteFunc(argv, func(arg string) bool { return strings.HasPrefix(arg, "--init-file=") })
	}
	argv = append(argv,
		"--wsrep-on=ON", "--wsrep-provider="+s.programs["libgalera_smm.so"], "--wsrep-cluster-name=drawsvc",
		"--wsrep-cluster-address=gcomm://"+strings.Join(others, ","), "--wsrep-node-address=127.0.0.1",
		"--wsrep-node-name="+s.Addr(), "--wsrep-sst-method=rsync", "--wsrep-sst-receive-address="+s.ports[portCopies].addr(),
		"--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
		fmt.Sprintf("--wsrep-provider-options=gmcast.listen_addr=tcp://%s;ist.recv_addr=%s;gcache.size=64M",
			group(s), s.ports[portIncrements].addr()))
	if position := s.recovered(argv); position != "" {
		argv = append(argv, "--wsrep-start-position="+position)
	}
	return argv
}

// recovered returns the position up to which the data of a restarted node are complete,
// "" if it is unknown. systemd's unit file does the same. Without the position, a node
// that was killed would copy all data again.
func (s *Server) recovered(argv []string) string {
	if _, err := os.Stat(s.path("data/grastate.dat")); err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyMax)
	defer cancel()
	if err := s.run(ctx, append(slices.Clone(argv), "--wsrep-recover")...); err != nil {
		return ""
	}
	log, err := os.ReadFile(s.path("log"))
	if err != nil {
		return ""
	}
	const before = "Recovered position: "
	_, position, found := bytes.Cut(log[max(0, bytes.LastIndex(log, []byte(before))):], []byte(before))
	if !found {
		return ""
	}
	line, _, _ := bytes.Cut(position, []byte("\n"))
	return strings.TrimSpace(string(line))
}
