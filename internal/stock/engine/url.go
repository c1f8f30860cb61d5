package engine

import (
	"cmp"
	"net"
	"net/url"
	"strings"

	"drawsvc/internal/draw"
)

// ParseURL reads a database URL of the form SCHEME://USER:PASS@HOST:PORT,…/DB, which
// may have several hosts.
func ParseURL(rawURL, port string) (*url.URL, []string, error) {
	scheme, rest, _ := strings.Cut(rawURL, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority := rest[:end]
	at := strings.LastIndex(authority, "@") + 1
	// url.Parse supports only one host. The text of its error would show the password.
	u, err := url.Parse(scheme + "://" + authority[:at] + "host" + rest[end:])
	if err != nil {
		return nil, nil, ErrURL()
	}
	hosts := strings.Split(authority[at:], ",")
	for i, host := range hosts {
		one, err := url.Parse("any://" + host)
		if err != nil || one.Hostname() == "" || one.Host != host {
			return nil, nil, ErrURL()
		}
		hosts[i] = net.JoinHostPort(one.Hostname(), cmp.Or(one.Port(), port))
	}
	return u, hosts, nil
}

// ErrURL returns the error for a database URL that cannot be read. It contains no part of
// the URL, which may contain a password.
func ErrURL() error {
	return draw.Errorf(draw.CodeInvalidRequest, "the database URL cannot be read")
}
