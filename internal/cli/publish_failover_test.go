package cli

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestFailoverThatLosesVersions: a publisher reads only a standby. After a failover to
// a standby that lacks signed versions, the publisher names the first of them and signs
// nothing more. The next draw with a lost key takes the next version.
func TestFailoverThatLosesVersions(t *testing.T) {
	t.Parallel()
	primary := servertest.Start(t, "postgres")
	link := servertest.StartProxy(t, primary.Addr())
	standby := servertest.StartStandby(t, primary, link.Addr(), "standby")
	p, identity := openCommitted(t, primary.URL())
	draws := func(on program, from, to int) {
		s := on.serve("--seed-identity-file", identity)
		for i := from; i < to; i++ {
			s.won("spring", fmt.Sprint("user-", i), fmt.Sprint("key-", i))
		}
		require.Equal(t, exitOK, s.end().code)
	}
	dir := t.TempDir()
	publish := func(on program, folder string) outcome {
		return on.run("publish", "--once", "--dir", filepath.Join(dir, folder), "--seed-identity-file", identity)
	}
	draws(p, 0, 10)
	require.Equal(t, exitOK, publish(p, "primary").code)
	q := on(t, standby.URL())
	require.Eventually(t, func() bool {
		return publish(q, "standby").stdout == "spring: 15 entries are published\n"
	}, commandMax, 50*time.Millisecond)
	for _, name := range []string{"checkpoint", "tile/0/000.p/15"} {
		require.Equal(t, readFile(t, dir, "primary", "spring", name), readFile(t, dir, "standby", "spring", name))
	}

	link.Hold()
	draws(p, 10, 20)
	require.Equal(t, "spring: 25 entries are published\n", publish(p, "primary").stdout)
	signed := readFile(t, dir, "primary", "spring", "checkpoint")
	o := publish(q, "primary")
	require.Equal(t, exitFailure, o.code)
	require.Contains(t, o.message, "the rows end before version 16, which was signed: the standby is behind")

	primary.Kill()
	link.Cut()
	read, err := stock.Open(t.Context(), standby.URL(), stock.Options{ReadOnly: true})
	require.NoError(t, err)
	stocktest.ExecAll(t, read, []string{`SELECT pg_promote()`})
	require.NoError(t, read.Close())
	draws(q, 15, 20)
	o = publish(q, "primary")
	require.Equal(t, exitViolation, o.code)
	require.Contains(t, o.message, "version 16 is not the one that was signed")
	require.Equal(t, signed, readFile(t, dir, "primary", "spring", "checkpoint"))
	require.Equal(t, "spring: 20 entries are published\n", publish(q, "standby").stdout, "it had signed nothing that was lost")
	s := q.serve("--seed-identity-file", identity)
	answer, replayed := s.won("spring", "user-10", "key-10")
	require.False(t, replayed)
	require.EqualValues(t, 21, answer["awards"].([]any)[0].(map[string]any)["version"])
}
