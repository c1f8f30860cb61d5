package cli

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// startMax is the maximum time until a command gives up a database that does not
// answer. It is 10 s plus what a busy machine needs; a command that hangs takes longer.
const startMax = time.Minute

// TestDatabaseDown: if the database is down, a command soon prints one clear line,
// without a password.
func TestDatabaseDown(t *testing.T) {
	t.Parallel()
	commands := [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"serve", "--listen", "127.0.0.1:0", "--migrate"}, {"audit"}, {"migrate", "up"}, {"pool", "list"}}
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			real := stocktest.URL(t, dialect)
			location, err := url.Parse(real)
			require.NoError(t, err)
			password, _ := location.User.Password()
			require.NotEmpty(t, password)
			fails := func(t *testing.T, databaseURL, part string, args ...string) {
				t.Helper()
				begun := time.Now()
				line := on(t, databaseURL).refused(exitFailure, part, args...)
				require.Less(t, time.Since(begun), startMax)
				require.NotContains(t, line, password)
				require.NotContains(t, line, "\t")
				require.LessOrEqual(t, strings.Count(line, "dial error"), 1, line)
				t.Log(time.Since(begun).Round(time.Millisecond), line)
			}
			nobody := *location
			nobody.Host = servertest.ClosedAddr(t)
			for _, args := range commands {
				fails(t, nobody.String(), "the database cannot be opened", args...)
			}
			proxy := servertest.StartProxy(t, real)
			proxy.Hold() // accepts connections, and sends nothing
			fails(t, proxy.URL(), "the database cannot be opened", "serve", "--listen", "127.0.0.1:0")
			wrong := *location
			wrong.User = url.UserPassword(location.User.Username(), password+"-not")
			fails(t, wrong.String(), "the database cannot be opened", "serve", "--listen", "127.0.0.1:0")
			missing := *location
			missing.Path = "/no_such_database"
			fails(t, missing.String(), "the database cannot be opened", "serve", "--listen", "127.0.0.1:0")
		})
	}
}
