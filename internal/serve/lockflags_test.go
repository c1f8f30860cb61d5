package serve

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// TestLockWaitFits: the wait for the lock is limited to half of a request's time, and the
// log states that if more was requested.
func TestLockWaitFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line          []string
		timeout, want time.Duration
		warns         bool
	}{
		{nil, 5 * time.Second, 2 * time.Second, false},
		{nil, 4 * time.Second, 2 * time.Second, false},
		{nil, time.Second, time.Second / 2, false},
		{nil, 10 * time.Minute, 2 * time.Second, false},
		{[]string{"--lock-wait=5s"}, 10 * time.Second, 5 * time.Second, false},
		{[]string{"--lock-wait=5s"}, 9998 * time.Millisecond, 4999 * time.Millisecond, true},
		{[]string{"--lock-wait=2s"}, time.Second, time.Second / 2, true},
	} {
		var l lockFlags
		f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		l.flags(f)
		require.NoError(t, f.Parse(c.line))
		l.fit(c.timeout)
		require.Equal(t, c.want, l.wait, "%v within %s", c.line, c.timeout)
		var said bytes.Buffer
		l.warn(f, slog.New(slog.NewTextHandler(&said, nil)))
		require.Equal(t, c.warns, strings.Contains(said.String(), "limited to half of --request-timeout"), "%v within %s", c.line, c.timeout)
	}
}
