package stage

import (
	"database/sql"
	"net/url"
	"strings"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

// GaleraNodes is how many nodes a cluster has.
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

// OwnCluster is everyWriter on a cluster of the cell's own.
func OwnCluster(g *Ground, s *harness.Site, kind string) *Base {
	return EveryWriter(&Ground{Whole: s, servers: g.servers}, s, kind)
}

// EveryWriter makes a database on the cluster, of which each instance writes
// to a node of its own as long as that serves.
func EveryWriter(g *Ground, s *harness.Site, _ string) *Base {
	b := g.galeraBase(s)
	for n := range b.Cluster {
		b.URLs = append(b.URLs, b.from(s, n))
	}
	return b
}

// OneWriter makes a database on the cluster, of which all instances write to
// the first node as long as that serves.
func OneWriter(g *Ground, s *harness.Site, _ string) *Base {
	b := g.galeraBase(s)
	b.URLs = []string{b.from(s, 0)}
	return b
}

// galeraBase makes a database on the first node, which the others have then.
// The harness sees on each node all that was committed before on any.
func (g *Ground) galeraBase(s *harness.Site) *Base {
	cluster := g.galeraCluster(s)
	b := g.Database(s, "mysql", cluster[0])
	b.Cluster, b.Nodes = cluster, map[string]*sql.DB{}
	u, err := url.Parse(b.URL)
	s.Must(err)
	for _, node := range cluster {
		b.Nodes["the node "+node.Addr()] = s.Opened(harness.OpenMySQL(node.URL(), strings.TrimPrefix(u.Path, "/"), "wsrep_sync_wait", "15"))
	}
	_ = b.Admin.Close()
	b.Admin = b.Nodes["the node "+cluster[0].Addr()]
	return b
}

// from is the service's URL that names every node, the n-th first.
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
