package client

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"net/url"
)

var (
	// ErrHTTPS says that the service speaks HTTPS, while the URL says http.
	ErrHTTPS = errors.New("the service speaks HTTPS: its URL must begin with https://")
	// ErrPlainHTTP says that a token would be sent without encryption to another
	// machine. Nothing was sent. [Client.AllowPlainHTTP] allows it.
	ErrPlainHTTP = errors.New("the token would be sent without encryption: the service's URL must begin with https://")
	// ErrRedirect says that the answer is a redirect, which is not followed: another
	// address is not the service that was named.
	ErrRedirect = errors.New("the answer is a redirect, which is not followed")
	// ErrTooLong is the error of an answer that is longer than what is read of one: 1 MiB of a draw,
	// 64 MiB of any other call. It is not asked for again.
	ErrTooLong = errors.New("the answer is too long")
)

// httpClient returns what makes the requests. It follows no redirect, unless the
// caller's own says which.
func (c *Client) httpClient() *http.Client {
	given := cmp.Or(c.HTTP, http.DefaultClient)
	if given.CheckRedirect != nil {
		return given
	}
	own := *given
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// checkURL reports whether a request may carry the token. Error: ErrPlainHTTP.
func (c *Client) checkURL(to *url.URL) error {
	if c.Token == "" || c.AllowPlainHTTP || to.Scheme != "http" || isLoopback(to.Hostname()) {
		return nil
	}
	return ErrPlainHTTP
}

// isLoopback reports whether only this machine is at a host.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
