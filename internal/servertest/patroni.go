package servertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patroniParent is the program that keeps a node's processes together.
//
//go:embed patroni.py
var patroniParent string

// wholeMax is the maximum time until every node of a cluster has its role, even if a node
// has to copy its data again.
const wholeMax = readyMax

// nodeMax is the maximum time for a request to a node. It is short, so that a node that
// hangs does not delay the requests to the others.
const nodeMax = time.Second

// Patroni is a PostgreSQL cluster in which Patroni, with etcd, chooses the primary. Its
// nodes are servers. Kill acts like the failure of a machine, Pause like a machine that
// hangs, and Start like its return.
type Patroni struct {
	Nodes []*Server
}

// StartPatroni starts a cluster with the given number of nodes and synchronous
// replication in Patroni's strict mode: a commit is acknowledged only when a standby has
// it too. A primary that is silent for 5 s is replaced. Patroni's own minimum is 20 s,
// which is too long for a test. StartPatroni returns when every node has its role. The
// cluster ends with the test.
func StartPatroni(tb testing.TB, nodes int) *Patroni {
	tb.Helper()
	sh := sharedOf(tb)
	etcd := Start(tb, "etcd")
	p, password := &Patroni{}, secret()
	for n := range nodes {
		name := fmt.Sprintf("node%d", n+1)
		s, err := sh.open(name, patroniKind(name, password, etcd), options{})
		if err != nil {
			giveUp(tb, err)
		}
		tb.Cleanup(s.discard)
		p.Nodes = append(p.Nodes, s)
	}
	if err := p.AwaitWhole(context.Background()); err != nil {
		tb.Fatal(err)
	}
	return p
}

// URL returns the URL of the empty database postgres. It names all nodes.
func (p *Patroni) URL() string {
	var all []string
	for _, s := range p.Nodes {
		all = append(all, s.Addr())
	}
	return strings.Replace(p.Nodes[0].URL(), p.Nodes[0].Addr(), strings.Join(all, ","), 1)
}

// view is what a node reports about itself. A primary also reports its followers.
type view struct {
	Replication []struct {
		Name  string `json:"application_name"`
		State string
		Sync  string `json:"sync_state"`
	}
}

// Leader returns the primary, nil if there is none. It asks each node only about itself,
// because a node's information about others may be outdated.
func (p *Patroni) Leader(ctx context.Context) *Server {
	for _, s := range p.Nodes {
		if askPatroni(ctx, s, http.MethodGet, "/leader", nil, nil) == nil {
			return s
		}
	}
	return nil
}

// Sync returns the synchronous standby, nil if there is none.
func (p *Patroni) Sync(ctx context.Context) *Server {
	var v view
	if leader := p.Leader(ctx); leader == nil || askPatroni(ctx, leader, http.MethodGet, "/patroni", nil, &v) != nil {
		return nil
	}
	for _, follower := range v.Replication {
		for _, s := range p.Nodes {
			if s.name == follower.Name && follower.Sync == "sync" {
				return s
			}
		}
	}
	return nil
}

// AwaitWhole waits until there is a primary with a synchronous standby, and every other
// node follows. Its error states what is missing.
func (p *Patroni) AwaitWhole(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, wholeMax)
	defer cancel()
	for {
		amiss := p.amiss(ctx)
		if amiss == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			said := ""
			for _, s := range p.Nodes {
				said += "\n--- " + s.name + ":\n" + s.tail()
			}
			return fmt.Errorf("the cluster is not whole: %w%s", amiss, said)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (p *Patroni) amiss(ctx context.Context) error {
	leader := p.Leader(ctx)
	if leader == nil {
		return errors.New("there is no primary")
	}
	var v view
	if err := askPatroni(ctx, leader, http.MethodGet, "/patroni", nil, &v); err != nil {
		return err
	}
	follow, sync := 0, 0
	for _, follower := range v.Replication {
		if follower.State == "streaming" {
			follow++
		}
		if follower.Sync == "sync" {
			sync++
		}
	}
	if follow != len(p.Nodes)-1 || sync == 0 {
		return fmt.Errorf("%s is followed by %+v", leader.name, v.Replication)
	}
	for _, s := range p.Nodes {
		if err := patroniReady(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// Switchover makes another node the primary without a failure. from is the present
// primary.
func (p *Patroni) Switchover(ctx context.Context, from, to *Server) error {
	body, err := json.Marshal(map[string]string{"leader": from.name, "candidate": to.name})
	if err != nil {
		return err
	}
	return askPatroni(ctx, from, http.MethodPost, "/switchover", body, nil)
}

// askPatroni makes a request to a node's own interface. Any status except 200 is an
// error.
func askPatroni(ctx context.Context, s *Server, method, path string, body []byte, into any) error {
	limit := nodeMax
	if method == http.MethodPost {
		limit = wholeMax // Patroni answers when the switchover is done
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	said, err := answer(ctx, method, "http://"+s.ports[1].addr()+path, body)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(said, into)
}

// patroniKind is not in the registry: a node cannot run without its etcd.
func patroniKind(name, password string, etcd *Server) kind {
	k := postgresKind()
	k.packages = "patroni python3-etcd postgresql"
	k.programs = map[string][]string{
		"patroni":  {"/usr/bin/patroni"},
		"python3":  {"/usr/bin/python3"}, // Python of the distribution, which has ctypes
		"postgres": {"/usr/lib/postgresql/*/bin/postgres"},
	}
	k.ports = 2 // for PostgreSQL and Patroni
	k.setUp = func(_ context.Context, s *Server) error {
		config, err := json.Marshal(patroniConfig(s, name, password, etcd.Addr())) // JSON is also YAML
		return errors.Join(err, s.write("password", password), s.write("patroni.yml", string(config)))
	}
	k.command = func(s *Server) []string {
		return []string{s.programs["python3"], "-c", patroniParent, s.programs["patroni"], s.path("patroni.yml")}
	}
	k.ready = patroniReady
	k.stop, k.discard = syscall.SIGTERM, syscall.SIGQUIT
	return k
}

func patroniReady(ctx context.Context, s *Server) error {
	return askPatroni(ctx, s, http.MethodGet, "/health", nil, nil)
}

func patroniConfig(s *Server, name, password, etcd string) map[string]any {
	type settings = map[string]any
	account := settings{"username": "drawsvc", "password": password}
	return settings{
		"scope": "drawsvc", "name": name, "etcd3": settings{"hosts": etcd},
		"restapi": settings{"listen": s.ports[1].addr(), "connect_address": s.ports[1].addr()},
		"bootstrap": settings{
			"dcs": settings{
				"ttl": 5, "loop_wait": 1, "retry_timeout": 2,
				"synchronous_mode": true, "synchronous_mode_strict": true,
				"postgresql": settings{"use_pg_rewind": true, "parameters": settings{
					"fsync": "off", "max_connections": 100, "shared_buffers": "64MB",
					"dynamic_shared_memory_type": "mmap", "unix_socket_directories": "", "deadlock_timeout": "100ms",
				}},
			},
			"initdb": []any{settings{"encoding": "UTF8"}, "no-locale", "no-sync"},
		},
		"postgresql": settings{
			"listen": s.Addr(), "connect_address": s.Addr(), "data_dir": s.path("data"),
			"bin_dir": filepath.Dir(s.programs["postgres"]), "pgpass": s.path("pgpass"),
			"authentication": settings{"superuser": account, "replication": account, "rewind": account},
			"pg_hba":         []string{"host all all 127.0.0.1/32 password", "host replication all 127.0.0.1/32 password"},
			// If the data of a node cannot be rewound, they are removed and copied again.
			"remove_data_directory_on_rewind_failure": true, "remove_data_directory_on_diverged_timelines": true,
		},
	}
}
