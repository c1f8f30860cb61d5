package stage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

func (b *Base) urlOf(instance int) string {
	if len(b.URLs) == 0 {
		return b.URL
	}
	return b.URLs[instance%len(b.URLs)]
}

// everyNode returns the connections that a search for leftovers has to use.
func (b *Base) everyNode() map[string]*sql.DB {
	if len(b.Nodes) == 0 {
		return map[string]*sql.DB{"the database": b.Admin}
	}
	return b.Nodes
}

// GaleraNodes is the number of nodes of a cluster.
const GaleraNodes = 3

// galeraCluster returns the cluster that cells share, with every node running.
func (g *Ground) galeraCluster(s *harness.Site) []*servertest.Server {
	if g.galera == nil {
		g.galera = servertest.StartGalera(&Lasting{Site: s, Whole: g.Whole}, GaleraNodes)
	}
	for _, node := range g.galera {
		s.Must(Revive(node))
	}
	return g.galera
}

// OwnCluster is EveryWriter on a cluster that only this cell uses.
func OwnCluster(g *Ground, s *harness.Site, kind string) *Base {
	return EveryWriter(&Ground{Whole: s, servers: g.servers}, s, kind)
}

// EveryWriter creates a database on the cluster; each instance writes to a different
// node as long as that node works.
func EveryWriter(g *Ground, s *harness.Site, _ string) *Base {
	b := g.galeraBase(s)
	for n := range b.Cluster {
		b.URLs = append(b.URLs, b.from(s, n))
	}
	return b
}

// OneWriter creates a database on the cluster; all instances write to the first node as
// long as that node works.
func OneWriter(g *Ground, s *harness.Site, _ string) *Base {
	b := g.galeraBase(s)
	b.URLs = []string{b.from(s, 0)}
	return b
}

// galeraBase creates a database on the first node, from which the others replicate it.
// The harness's reads of each node include everything that was committed before on any
// node.
func (g *Ground) galeraBase(s *harness.Site) *Base {
	cluster := g.galeraCluster(s)
	b := g.Database(s, "mysql", cluster[0])
	b.Cluster, b.Nodes = cluster, map[string]*sql.DB{}
	u, err := url.Parse(b.URL)
	s.Must(err)
	for _, node := range cluster {
		b.Nodes["the node "+node.Addr()] = s.Opened(place.OpenMySQL(node.URL(), strings.TrimPrefix(u.Path, "/"), "wsrep_sync_wait", "15"))
	}
	_ = b.Admin.Close()
	b.Admin = b.Nodes["the node "+cluster[0].Addr()]
	return b
}

// from returns the service's URL that names every node, beginning with the n-th.
func (b *Base) from(s *harness.Site, n int) string {
	u, err := url.Parse(b.URL)
	s.Must(err)
	var hosts []string
	for k := range b.Cluster {
		hosts = append(hosts, b.Cluster[(n+k)%len(b.Cluster)].Addr())
	}
	u.Host = strings.Join(hosts, ",")
	return u.String()
}

// TakeoverMax is the maximum time that a cluster may take to have a new primary.
const TakeoverMax = 45 * time.Second

// OnHosts creates the cell's database on a primary that may move to another of the
// hosts. Each instance has the names of all hosts, in different order.
func (g *Ground) OnHosts(s *harness.Site, kind string, primary *servertest.Server, hosts []*servertest.Server) *Base {
	b := g.Database(s, kind, primary)
	one := *b
	b.Server, b.Nodes = nil, map[string]*sql.DB{}
	var addresses []string
	for _, host := range hosts {
		addresses = append(addresses, host.Addr())
	}
	at := func(url string, addresses ...string) string {
		return strings.Replace(url, primary.Addr(), strings.Join(addresses, ","), 1)
	}
	for n := range addresses {
		turned := append(append([]string{}, addresses[n:]...), addresses[:n]...)
		b.URLs = append(b.URLs, at(one.URL, turned...))
	}
	whole := primary.URL()
	var name string
	s.Must(one.Admin.QueryRow(`SELECT current_database()`).Scan(&name))
	whole = strings.Replace(whole, "/postgres?", "/"+name+"?", 1)
	open := func(url string) *sql.DB { return s.Opened(place.Open(url)) }
	b.Admin = open(at(whole, addresses...) + "&target_session_attrs=read-write&connect_timeout=2")
	for n, host := range hosts {
		b.Nodes[fmt.Sprint("node ", n+1)] = open(at(whole, host.Addr()) + "&connect_timeout=2")
	}
	// A node that does not have the database yet would end the search for a primary.
	s.Must(errors.Join(ExecAll(one.Admin, `CREATE TABLE probes (at timestamptz)`), one.Admin.Close()))
	b.AwaitTable(s, "probes")
	return b
}

// AwaitTable waits until every node has a table.
func (b *Base) AwaitTable(s *harness.Site, table string) {
	for name, db := range b.Nodes {
		err := Within(context.Background(), TakeoverMax, func() error {
			_, err := CountOn(context.Background(), db, `SELECT count(*) FROM `+table)
			return err
		})
		if err != nil {
			s.Fatalf("%s does not follow: %v", name, err)
		}
	}
}
