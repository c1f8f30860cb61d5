package hook

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"drawsvc/internal/draw"
)

const (
	// dialMax bounds the connection, and also the TLS handshake. attemptMax bounds the
	// attempt.
	dialMax    = 5 * time.Second
	attemptMax = 15 * time.Second
	urlMax     = 1000
	headersMax = 64 << 10
	idleMax    = 30 * time.Second
)

// errRefused is the error of an address that must not be dialled.
var errRefused = errors.New("address refused")

// Dialer decides which addresses may be dialled.
type Dialer struct {
	allowed []netip.Prefix
	guard   *ssrf.Guardian
	// Resolver is nil for the system's resolver; tests set it.
	Resolver *net.Resolver
}

// NewDialer returns a Dialer that refuses IANA's special-purpose addresses, except those
// in allowed.
func NewDialer(allowed []netip.Prefix) *Dialer {
	var v4, v6 []netip.Prefix
	for _, p := range allowed {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	return &Dialer{
		allowed: allowed,
		guard:   ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...)),
	}
}

// control returns a function that checks the address that is dialled, whatever name
// resolved to it. Without TLS, only allowed networks may be dialled.
func (d *Dialer) control(isPlain bool) func(network, address string, c syscall.RawConn) error {
	return func(network, address string, c syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !d.mayDial(network, at, isPlain, c) {
			return errRefused
		}
		return nil
	}
}

func (d *Dialer) mayDial(network string, at netip.AddrPort, isPlain bool, c syscall.RawConn) bool {
	// Neither a zone nor the IPv6 form of an IPv4 address may hide an address.
	addr := at.Addr().Unmap().WithZone("")
	for _, p := range d.allowed {
		if p.Contains(addr) {
			return true
		}
	}
	return !isPlain && d.guard.Safe(network, netip.AddrPortFrom(addr, at.Port()).String(), c) == nil
}

// newClient returns a client that follows no redirect and uses no proxy.
func (d *Dialer) newClient(isPlain bool) *http.Client {
	dialer := &net.Dialer{Timeout: dialMax, Control: d.control(isPlain), Resolver: d.Resolver}
	return &http.Client{
		Timeout: attemptMax,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: dialMax, MaxResponseHeaderBytes: headersMax,
			TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, IdleConnTimeout: idleMax, MaxIdleConnsPerHost: underWayMax,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// CheckURL returns an error unless a hook may have the URL. It must be https with a host,
// without user info and fragment. http is only for allowed networks. An address in the
// URL is refused if it cannot be dialled. Error: CodeInvalidRequest.
func (d *Dialer) CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || len(text) > urlMax {
		return draw.Errorf(draw.CodeInvalidRequest, "url must be an https address with a host, of at most %d characters", urlMax)
	}
	if u.User != nil || u.Fragment != "" || strings.Contains(text, "#") {
		return draw.Errorf(draw.CodeInvalidRequest, "url must have no user info and no fragment")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return draw.Errorf(draw.CodeInvalidRequest, "url must have a port from 1 to 65535, or none")
		}
	}
	isPlain := u.Scheme == "http"
	if isPlain && len(d.allowed) == 0 {
		return draw.Errorf(draw.CodeInvalidRequest, "url must be https: http is for the networks of --hook-allow")
	}
	if addr, isLiteral := parseLiteral(u.Hostname()); isLiteral {
		network := "tcp4"
		if addr.Unmap().Is6() {
			network = "tcp6"
		}
		if !d.mayDial(network, netip.AddrPortFrom(addr, 1), isPlain, nil) {
			return draw.Errorf(draw.CodeInvalidRequest, "url leads to an inner address, and --hook-allow does not allow it")
		}
	}
	return nil
}

// parseLiteral reads an address in any form that some resolver accepts, such as
// 0x7f000001 and 127.1. For a form that Go does not parse, it returns the unspecified
// address 0.0.0.0, which is refused.
func parseLiteral(host string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr, true
	}
	for _, part := range strings.Split(strings.TrimSuffix(host, "."), ".") {
		if !isNumber(part) {
			return netip.Addr{}, false
		}
	}
	return netip.IPv4Unspecified(), true
}

// isNumber reports whether a part of a host is a decimal, octal or hexadecimal number.
func isNumber(part string) bool {
	digits := "0123456789"
	if rest, isHex := strings.CutPrefix(strings.ToLower(part), "0x"); isHex {
		part, digits = rest, "0123456789abcdef"
	}
	return strings.Trim(strings.ToLower(part), digits) == ""
}

// clients are the clients of a sender: one for http, one for https.
type clients struct{ plain, secure *http.Client }

func (d *Dialer) newClients() *clients { return &clients{d.newClient(true), d.newClient(false)} }

func (c *clients) do(ctx context.Context, r *http.Request) (*http.Response, error) {
	client := c.secure
	if r.URL.Scheme == "http" {
		client = c.plain
	}
	return client.Do(r.WithContext(ctx))
}

// close closes idle connections.
func (c *clients) close() {
	c.plain.CloseIdleConnections()
	c.secure.CloseIdleConnections()
}

// describe returns the text of an error for people. It contains no byte of an answer, and
// no address.
func describe(err error) string {
	var network net.Error
	var certificate *tls.CertificateVerificationError
	var resolve *net.DNSError
	switch {
	case errors.Is(err, errRefused):
		return "address refused"
	case errors.As(err, &certificate):
		return "certificate refused"
	case errors.As(err, &resolve):
		return "name not found"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timeout"
	}
	return "no connection"
}
