package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

func TestParseURL(t *testing.T) {
	u, hosts, err := ParseURL("mysql://me:p%40ss:w@h1:3307,h2,[::1],[::1]:9/shop?tls=true", "3306")
	require.NoError(t, err)
	require.Equal(t, []string{"h1:3307", "h2:3306", "[::1]:3306", "[::1]:9"}, hosts)
	password, _ := u.User.Password()
	require.Equal(t, [4]string{"me", "p@ss:w", "/shop", "true"}, [4]string{u.User.Username(), password, u.Path, u.Query().Get("tls")})

	for _, bad := range []string{"mysql:", "mysql://", "mysql:///shop", "mysql://u:p@/shop", "mysql://u:p@h,,g/shop", "mysql://u:%zz@h/shop", "mysql://u:p@h:port/d", "mysql://u:p@[::1/d", "mysql://u:secret@h/shop\x00"} {
		_, _, err := ParseURL(bad, "3306")
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%q", bad)
		require.NotContains(t, err.Error(), "secret")
	}
}
