package client

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"net/url"
)

var (
	// ErrHTTPS means that the service uses HTTPS, while the URL says http.
	ErrHTTPS = errors.New("the service speaks HTTPS: its URL must begin with https://")
	// ErrPlainHTTP means that a token would have been sent without encryption to
	// another machine. Nothing was sent. [Client.AllowPlainHTTP] allows it.
	ErrPlainHTTP = errors.New("the token would be sent without encryption: the service's URL must begin with https://")
	// ErrRedirect means that the response is a redirect. Redirects are not followed,
	// because another address is not the service that the caller named.
	ErrRedirect = errors.New("the response is a redirect, which is not followed")
	// ErrTooLong means that a response is longer than the maximum: 1 MiB for a draw, 64
	// MiB for any other call. The call is not repeated.
	ErrTooLong = errors.New("the response is too long")
)

// httpClient returns the client that sends the requests. It follows no redirect, unless
// the caller's client allows it.
func (c *Client) httpClient() *http.Client {
	given := cmp.Or(c.HTTP, http.DefaultClient)
	if given.CheckRedirect != nil {
		return given
	}
	own := *given
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// checkURL checks that a request may carry the token. Error: ErrPlainHTTP.
func (c *Client) checkURL(to *url.URL) error {
	if c.Token == "" || c.AllowPlainHTTP || to.Scheme != "http" || isLoopback(to.Hostname()) {
		return nil
	}
	return ErrPlainHTTP
}

// isLoopback reports whether host is this machine only.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
