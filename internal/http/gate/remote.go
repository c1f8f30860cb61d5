package gate

import (
	"net"
	nethttp "net/http"
	"net/netip"
	"slices"
	"strings"

	"drawsvc/internal/http/conns"
)

// Remote is the address that a request comes from. That of a trusted proxy
// gives way to what the proxy says: the last address of X-Forwarded-For that
// is no trusted proxy's. Anything before it may be the caller's invention.
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

// IsShared reports whether many callers may have an address: that of a trusted proxy, of
// this machine, where a proxy may run, or one that is not known.
func (g *Gate) IsShared(a netip.Addr) bool { return !a.IsValid() || a.IsLoopback() || g.isProxy(a) }

// isFromOtherSite reports whether a page of another site made a browser send r:
// under a name of its own that was pointed at this machine, or by a call across
// sites. Programs other than browsers say nothing of a site.
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
