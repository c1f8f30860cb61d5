package stage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

// TakeoverMax is the longest that a cluster may take to have a new primary.
const TakeoverMax = 45 * time.Second

// OnHosts makes the cell's database on a primary that may move to another of
// the hosts. Each instance has the names of all, in another order.
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
	open := func(url string) *sql.DB { return s.Opened(sql.Open("pgx", url)) }
	b.Admin = open(at(whole, addresses...) + "&target_session_attrs=read-write&connect_timeout=2")
	for n, host := range hosts {
		b.Nodes[fmt.Sprint("node ", n+1)] = open(at(whole, host.Addr()) + "&connect_timeout=2")
	}
	// A node that has not got the database yet would end the search for one.
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
