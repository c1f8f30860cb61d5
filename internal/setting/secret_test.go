package setting

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEncodedPasswordsAreNotRaw: text after an @, a colon or a slash is not a password.
func TestEncodedPasswordsAreNotRaw(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://d:p%40ss@127.0.0.1/draws", "postgres://d@h1,h2/draws?user=a@b", "sqlite:a@b:c/d.db", "table:", "mysql://h/d",
		"postgres://[::1]:5432/draws", "postgres://u:p@[::1]:5432/draws", "zookeeper://a:2181,b:2181/path",
	} {
		require.False(t, holdsRawPassword(url), url)
	}
}
