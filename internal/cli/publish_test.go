package cli

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/publish/witnesstest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// openCommitted returns a program on a database with the committed and open pool spring,
// and the file of the identity.
func openCommitted(t *testing.T, url string) (program, string) {
	t.Helper()
	recipients, identity := keyFiles(t)
	p := on(t, url)
	p.ok("migrate", "up")
	p.ok("pool", "create", "spring", "--state=paused", "--prize", "id=gold,stock=5,value=19.90", "--prize", "id=silver,stock=995")
	p.ok("pool", "commit", "spring", "--origin=draws.example.org", "--seed-recipients", recipients)
	p.ok("pool", "open", "spring")
	return p, identity
}

// readFile returns a file's content.
func readFile(t *testing.T, parts ...string) string {
	b, err := os.ReadFile(filepath.Join(parts...))
	require.NoError(t, err)
	return string(b)
}

// TestPublish: a pool is published while it is drawn from. After the pool is closed and
// revealed, its folder can be verified.
func TestPublish(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p, identity := openCommitted(t, stocktest.Migrated(t, dialect))
			dir := filepath.Join(t.TempDir(), "public")
			folder := filepath.Join(dir, "spring")
			publish := []string{"publish", "--once", "--dir", dir, "--seed-identity-file", identity}
			require.Equal(t, "spring: 5 entries are published\n", p.ok(publish...))
			key := readFile(t, folder, "key")
			witness := witnesstest.Start(t, key)
			publish = append(publish, "--witness", witness.Flag())
			p.cosigned(witness, 5, publish...) // no draw was made since the last pass
			s := p.serve("--seed-identity-file", identity)
			for i := range 300 {
				s.won("spring", fmt.Sprint("user-", i), fmt.Sprint("key-", i))
			}
			whileServed := publish
			if dialect == "sqlite" { // the service uses the file
				token := filepath.Join(t.TempDir(), "token")
				require.NoError(t, os.WriteFile(token, []byte(s.token), 0o600))
				whileServed = append(slices.Clone(publish), "--server", s.url, "--token-file", token)
			}
			p.cosigned(witness, 305, whileServed...)
			require.NoFileExists(t, filepath.Join(folder, "log.jsonl"), "it tells how much is left")
			require.FileExists(t, filepath.Join(folder, "tile/0/000"))
			require.FileExists(t, filepath.Join(folder, "tile/0/001.p/49"))
			require.Equal(t, readFile(t, folder, "checkpoint"), s.admin(200, "GET", "/pools/spring/proof/checkpoint", ""))
			s.admin(200, "PATCH", "/admin/pools/spring", `{"state":"closed"}`)
			reveal := s.admin(200, "POST", "/admin/pools/spring/reveal", "")
			require.Equal(t, exitOK, s.end().code)
			p.cosigned(witness, 306, publish...)
			require.Equal(t, reveal, readFile(t, folder, "reveal"))
			require.Contains(t, program{tb: t}.ok("verify", folder, "--witness", witness.Key), "306 entries hold: 300 awards replayed from version 5 on")

			other := filepath.Join(t.TempDir(), "exported")
			p.ok("pool", "export-proof", "--pool=spring", other, "--seed-identity-file", identity)
			for _, name := range []string{"commitment", "key", "log.jsonl", "reveal", "zones"} {
				require.Equal(t, readFile(t, other, name), readFile(t, folder, name), name)
			}
			if dialect != "sqlite" {
				require.Equal(t, readFile(t, other, "checkpoints"), readFile(t, folder, "checkpoints"))
			}
		})
	}
}

// cosigned publishes the given number of entries of the pool spring until the witness
// has cosigned them. A checkpoint waits at most 2 s for the witness, which may be too
// short on a busy machine; then the next pass gets the cosignature.
func (p program) cosigned(witness *witnesstest.Witness, entries int64, args ...string) {
	p.tb.Helper()
	for begun, done := time.Now(), false; !done; {
		require.Less(p.tb, time.Since(begun), commandMax, "the witness cosigns")
		o := p.run(args...)
		require.Equal(p.tb, exitOK, o.code, o.message)
		require.Equal(p.tb, fmt.Sprintf("spring: %d entries are published\n", entries), o.stdout)
		done = !strings.Contains(o.stderr, "a witness has not cosigned")
		require.True(p.tb, !done || o.stderr == "", o.stderr)
		require.True(p.tb, !done || witness.Size("draws.example.org/spring") == entries)
	}
}

// TestSecondPublisher: a second publisher of the same folder is refused.
func TestSecondPublisher(t *testing.T) {
	t.Parallel()
	url := stocktest.Migrated(t, "postgres")
	p, identity := openCommitted(t, url)
	dir := filepath.Join(t.TempDir(), "public")
	first, log := p.publisher("--dir", dir, "--every", "100ms", "--publish-entries", "live", "--seed-identity-file", identity)
	require.Eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(dir, "spring", "checkpoint"))
		return err == nil
	}, commandMax, 20*time.Millisecond)
	p.refused(exitFailure, "another publisher has the folder", "publish", "--once", "--dir", dir, "--seed-identity-file", identity)

	// While it runs, its folder can be verified, and its metrics can be read.
	folder := filepath.Join(dir, "spring")
	s := p.serve("--seed-identity-file", identity)
	for i := range 200 {
		s.won("spring", fmt.Sprint("user-", i), fmt.Sprint("key-", i))
		if i%40 == 20 {
			program{tb: t}.ok("verify", folder, "--live")
			second(t, exitOK, folder, "--live")
		}
	}
	require.Contains(t, metricsOf(t, log), "\ndrawsvc_log_forks_total 0\n")
	require.NotEmpty(t, sample(metricsOf(t, log), "drawsvc_publish_interval_seconds"))
	passes(t, log)

	// A failover that lost versions: rows are removed, and new ones added.
	stocktest.ExecAll(t, stocktest.Open(t, url, stock.Options{}), []string{`DELETE FROM awards WHERE version > 100`, `UPDATE pools SET version = 100, mark = 1`})
	require.Eventually(t, func() bool { return strings.Contains(metricsOf(t, log), "\ndrawsvc_log_forks_total 1\n") }, commandMax, 50*time.Millisecond)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), `"pool":"spring","version":101,`) }, commandMax, 10*time.Millisecond)
	passes(t, log) // other pools may continue
	require.NoError(t, first.Process.Signal(syscall.SIGTERM))
	require.NoError(t, first.Wait(), "it ends well")
}

// passes waits until a publisher makes another pass without an error.
func passes(t *testing.T, log *text) {
	t.Helper()
	last := func() float64 {
		at, err := strconv.ParseFloat(sample(metricsOf(t, log), "drawsvc_publish_pass_timestamp_seconds"), 64)
		require.NoError(t, err)
		return at
	}
	before := last()
	require.Eventually(t, func() bool { return last() > before }, commandMax, 50*time.Millisecond)
}

// publisher starts `publish` in a separate process, with metrics.
func (p program) publisher(args ...string) (*exec.Cmd, *text) {
	cmd, log := p.command(append([]string{"publish", "--metrics-listen", "127.0.0.1:0"}, args...)...), &text{}
	cmd.Stderr = log
	require.NoError(p.tb, cmd.Start())
	p.tb.Cleanup(func() {
		_ = cmd.Process.Kill() // if it still runs
		_ = cmd.Wait()
	})
	return cmd, log
}

// metricsOf reads the metrics of a publisher at the address in its log.
func metricsOf(t *testing.T, log *text) string {
	var found []string
	require.Eventually(t, func() bool {
		found = regexp.MustCompile(`"metrics_address":"([^"]+)"`).FindStringSubmatch(log.String())
		return found != nil
	}, commandMax, 10*time.Millisecond)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+found[1]+"/metrics", nil)
	require.NoError(t, err)
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(b)
}
