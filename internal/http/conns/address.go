package conns

import (
	nethttp "net/http"
	"net/netip"
)

// AddressOf reads the address before a port. An unreadable address gives the zero
// address, which counts as one caller.
func AddressOf(text string) netip.Addr {
	read, _ := netip.ParseAddrPort(text)
	return read.Addr().Unmap()
}

// PeerOf returns the address of the other end of a request's connection. It is read
// once for all requests of the connection.
func PeerOf(r *nethttp.Request) netip.Addr {
	if c := Of(r.Context()); c != nil {
		return c.peer
	}
	return AddressOf(r.RemoteAddr)
}

// CallerOf returns the address by which a caller is counted: for IPv6 its /64, since one
// caller usually has all addresses of it.
func CallerOf(from netip.Addr) netip.Addr {
	if !from.Is6() || from.Is4In6() {
		return from.Unmap()
	}
	whole, _ := from.WithZone("").Prefix(64) // cannot fail for 64 bits of 128
	return whole.Addr()
}
