package gate

import (
	nethttp "net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGuessesAreBounded: guesses use bounded memory, and are counted beyond that bound
// too.
func TestGuessesAreBounded(t *testing.T) {
	g, at := NewGuesses(), time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	for i := range 3 * MaxGuessers {
		g.Wrong(address(i), at)
	}
	require.Len(t, g.full, MaxGuessers)
	require.True(t, g.Wrong(netip.MustParseAddr("11.0.0.1"), at), "those beyond share one count")
	require.False(t, g.Wrong(address(1), at), "those within have their own")
	require.False(t, g.Wrong(netip.MustParseAddr("11.0.0.1"), at.Add(time.Hour*24*365)))
	require.Len(t, g.full, 1)
}

// TestRemoteIsTheLastThatNoProxyIs: the caller's address is the last one in
// X-Forwarded-For that does not belong to a proxy. A caller may have invented the
// addresses before it.
func TestRemoteIsTheLastThatNoProxyIs(t *testing.T) {
	g := &Gate{proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
	for _, c := range []struct {
		peer, want string
		forwarded  []string
	}{
		{"192.0.2.1:1", "192.0.2.1", nil},
		{"192.0.2.1:1", "192.0.2.1", []string{"203.0.113.9"}},
		{"[::ffff:192.0.2.1]:1", "192.0.2.1", nil},
		{"10.0.0.1:1", "10.0.0.1", nil},
		{"10.0.0.1:1", "203.0.113.9", []string{"203.0.113.9"}},
		{"[::1]:1", "203.0.113.9", []string{"203.0.113.9"}},
		{"10.0.0.1:1", "203.0.113.9", []string{"198.51.100.1, 203.0.113.9, 10.1.1.1"}},
		{"10.0.0.1:1", "203.0.113.9", []string{"198.51.100.1", "203.0.113.9"}},
		{"10.0.0.1:1", "10.0.0.1", []string{"203.0.113.9, nonsense"}},
		{"10.0.0.1:1", "10.0.0.2", []string{"10.0.0.2"}},
	} {
		r := httptest.NewRequest(nethttp.MethodGet, "/", nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-For"] = c.forwarded
		require.Equal(t, c.want, g.Remote(r).String(), c)
	}
}
