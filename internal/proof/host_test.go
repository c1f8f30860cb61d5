package proof

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// TestCheckHost: every accepted host is a valid host, and can be part of an origin.
func TestCheckHost(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"localhost", "draws.example.org", "draws.example.org:8443", "127.0.0.1", "127.0.0.1:8080", "[::1]", "[2001:db8::1]:443", "verlosung.münchen.example", "my_host",
	} {
		require.NoError(t, CheckHost(host), host)
		require.NoError(t, CheckOrigin(host+"/spring"), host)
	}
	for _, host := range []string{
		"", ".", "a/b", "a.example/", "https://a.example", "a b", "a+b", "a..b", ".a", "-a", "a-", "a.example:", "a.example:0", "a.example:65536", "a.example:http",
		"::1", "2001:db8::1", "[::1", "::1]", "[127.0.0.1]", "[fe80::1%eth0]", "user@a.example", "a.example?x", "a.example#x", "a\n", "a\xff", strings.Repeat("a", 201),
	} {
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(CheckHost(host)), "%q", host)
	}
}
