package stage

import (
	"os"

	"filippo.io/age"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// Pair is a PostgreSQL primary and a standby that follows it through a link.
type Pair struct {
	// Synchronous means that a commit waits for the standby.
	Synchronous      bool
	Primary, Standby *servertest.Server
	Link             *servertest.Proxy
	// Options are added to those of both servers.
	Options []servertest.Option
}

const (
	// LostNode is the primary's name in [Base.Nodes].
	LostNode = "node 1"
	// HeirNode is the standby's name in [Base.Nodes].
	HeirNode = "node 2"
	// Promote does not wait: a waiting statement's snapshot could keep the standby from
	// replaying the rest.
	Promote = `SELECT pg_promote(false)`
)

// Base starts both servers, and creates a cell's database on them.
func (p *Pair) Base(g *Ground, s *harness.Site, kind string) *Base {
	options := append([]servertest.Option{servertest.Args(place.Of(kind).Small...)}, p.Options...)
	p.Primary = servertest.Start(s, kind, options...)
	p.Link = servertest.StartProxy(s, p.Primary.Addr())
	p.Standby = servertest.StartStandby(s, p.Primary, p.Link.Addr(), "standby", options...)
	b := g.OnHosts(s, kind, p.Primary, []*servertest.Server{p.Primary, p.Standby})
	if p.Synchronous {
		s.Must(ExecAll(b.Admin, `ALTER SYSTEM SET synchronous_standby_names = 'standby'`, `SELECT pg_reload_conf()`))
	}
	return b
}

// HandOver kills the primary, discards the bytes on its link, and promotes the standby.
func (p *Pair) HandOver(b *Base) error {
	p.Primary.Kill()
	p.Link.Cut()
	delete(b.Nodes, LostNode)
	return ExecAll(b.Nodes[HeirNode], Promote)
}

// SeedIdentity and SeedRecipients are the files of the instances' keys for seeds.
const (
	SeedIdentity   = Bin + "/seed-identity"
	SeedRecipients = Bin + "/seed-recipients"
)

// MakeSeedKeys creates the files of keys for seeds.
func MakeSeedKeys(s *harness.Site) {
	identity, err := age.GenerateX25519Identity()
	if err == nil {
		err = os.WriteFile(SeedIdentity, []byte(identity.String()+"\n"), 0o600)
	}
	if err == nil {
		err = os.WriteFile(SeedRecipients, []byte(identity.Recipient().String()+"\n"), 0o600)
	}
	s.Must(err)
}

// SeedFlags are the flags of instances that seal and unseal seeds.
func SeedFlags() []string {
	return []string{"--seed-identity-file", SeedIdentity, "--seed-recipients", SeedRecipients}
}
