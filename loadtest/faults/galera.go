package main

import (
	"database/sql"
	"net/url"
	"strings"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

const galeraNodes = 3

// galeraCluster returns the cluster that cells share, with every node running.
func (g *ground) galeraCluster(s *harness.Site) []*servertest.Server {
	if g.galera == nil {
		g.galera = servertest.StartGalera(&lasting{Site: s, whole: g.whole}, galeraNodes)
	}
	for _, node := range g.galera {
		if err := node.Start(); err != nil && !strings.Contains(err.Error(), "runs already") {
			s.Fatalf("a node does not start again: %v", err)
		}
	}
	return g.galera
}

// ownCluster is everyWriter on a cluster of the cell's own.
func ownCluster(g *ground, s *harness.Site, kind string) *base {
	return everyWriter(&ground{whole: s, servers: g.servers}, s, kind)
}

// everyWriter makes a database on the cluster, of which each instance writes
// to a node of its own as long as that serves.
func everyWriter(g *ground, s *harness.Site, _ string) *base {
	b := g.galeraBase(s)
	for n := range b.cluster {
		b.urls = append(b.urls, b.from(s, n))
	}
	return b
}

// oneWriter makes a database on the cluster, of which all instances write to
// the first node as long as that serves.
func oneWriter(g *ground, s *harness.Site, _ string) *base {
	b := g.galeraBase(s)
	b.urls = []string{b.from(s, 0)}
	return b
}

// galeraBase makes a database on the first node, which the others have then.
// The harness sees on each node all that was committed before on any.
func (g *ground) galeraBase(s *harness.Site) *base {
	cluster := g.galeraCluster(s)
	b := g.database(s, "mysql", cluster[0])
	b.cluster, b.nodes = cluster, map[string]*sql.DB{}
	u, err := url.Parse(b.url)
	if err != nil {
		s.Fatal(err)
	}
	for _, node := range cluster {
		db, err := openMySQL(node.URL(), strings.TrimPrefix(u.Path, "/"), "wsrep_sync_wait", "15")
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { _ = db.Close() })
		b.nodes["the node "+node.Addr()] = db
	}
	_ = b.admin.Close()
	b.admin = b.nodes["the node "+cluster[0].Addr()]
	return b
}

// from is the service's URL that names every node, the n-th first.
func (b *base) from(s *harness.Site, n int) string {
	u, err := url.Parse(b.url)
	if err != nil {
		s.Fatal(err)
	}
	var hosts []string
	for k := range b.cluster {
		hosts = append(hosts, b.cluster[(n+k)%len(b.cluster)].Addr())
	}
	u.Host = strings.Join(hosts, ",")
	return u.String()
}
