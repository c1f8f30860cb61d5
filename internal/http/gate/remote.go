package gate

import (
	"net"
	nethttp "net/http"
	"net/netip"
	"slices"
	"strings"

	"drawsvc/internal/http/conns"
)

// Remote returns the address that a request comes from. For a request from a trusted
// proxy it is the last address of X-Forwarded-For that is not a trusted proxy's. The
// caller may have invented anything before it.
func (g *Gate) Remote(r *nethttp.Request) netip.Addr {
	from := conns.PeerOf(r)
	if !g.isProxy(from) {
		return from
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, hop := range slices.Backward(hops) {
		addr, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return from
		}
		from = addr.Unmap()
		if !g.isProxy(from) {
			return from
		}
	}
	return from
}

func (g *Gate) isProxy(a netip.Addr) bool {
	return slices.ContainsFunc(g.proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// IsShared reports whether many callers may have an address: a trusted proxy's, an
// unknown one, or this machine's, which may run a proxy.
func (g *Gate) IsShared(a netip.Addr) bool { return !a.IsValid() || a.IsLoopback() || g.isProxy(a) }

// isFromOtherSite reports whether a page of another site made a browser send r. The
// page may use its own host name that resolves to this machine, or make a cross-site
// call. Programs other than browsers do not name a site.
func (g *Gate) isFromOtherSite(r *nethttp.Request) bool {
	return !g.isOwnHost(r.Host) || g.crossOrigin.Check(r) != nil
}

// isOwnHost reports whether a Host header names loopback or one of AllowedHosts.
func (g *Gate) isOwnHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || slices.Contains(g.hosts, host) {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.Unmap().IsLoopback()
}
