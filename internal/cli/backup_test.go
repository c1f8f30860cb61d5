package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// rename renames a file, with the files of SQLite next to it.
func rename(tb testing.TB, from, to string) {
	tb.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(from+suffix, to+suffix); !os.IsNotExist(err) {
			require.NoError(tb, err)
		}
	}
}

// refuses checks that a service accepts no draw and no change any more.
func (s *service) refuses(pool string) {
	s.tb.Helper()
	for n := range 3 {
		status, body, err := s.draw(pool, "u1", fmt.Sprintf("refused-%d", n))
		require.NoError(s.tb, err)
		require.Equal(s.tb, http.StatusServiceUnavailable, status, body)
		require.Contains(s.tb, body, `"code":"store-unavailable"`)
		require.Contains(s.tb, body, `"outcome":"unknown"`, "the log was not asked for the key")
	}
	s.admin(http.StatusServiceUnavailable, "PATCH", "/admin/pools/"+pool, `{"state":"paused"}`)
	s.admin(http.StatusServiceUnavailable, "GET", "/admin/pools/"+pool, "")
	s.admin(http.StatusServiceUnavailable, "GET", "/readyz", "")
	s.admin(http.StatusOK, "GET", "/livez", "")
}

// startsNot runs `serve` in a separate process, which must end with exit code 1 and a
// line that contains part.
func (p program) startsNot(part string) {
	p.tb.Helper()
	cmd := p.command("serve", "--listen", "127.0.0.1:0")
	var said text
	cmd.Stderr = &said
	require.NoError(p.tb, cmd.Start())
	stop := time.AfterFunc(commandMax, func() { _ = cmd.Process.Kill() })
	defer stop.Stop()
	_ = cmd.Wait() // the exit code is checked below
	require.Equal(p.tb, exitFailure, cmd.ProcessState.ExitCode(), said.String())
	require.Contains(p.tb, said.String(), part)
}

// TestBackupAndRestore: a service is backed up under load, killed, and restored from
// the backup.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	url := stocktest.Migrated(t, "sqlite")
	path := strings.TrimPrefix(url, "sqlite:")
	p := on(t, url)
	p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1000000")
	s := p.start()
	var c crowd
	c.drawFrom(s.service, 8)
	await := func(wins int) {
		require.Eventually(t, func() bool { return c.wins() >= wins }, commandMax, 2*time.Millisecond)
	}
	await(100)
	c.mu.Lock()
	before := map[string]string{}
	for key, body := range c.won {
		before[key] = body
	}
	c.mu.Unlock()
	backup := filepath.Join(t.TempDir(), "backup.db")
	require.Contains(t, p.ok("backup", backup), "backup "+backup+": ")
	p.refused(exitFailure, "there is a file "+backup+" already", "backup", backup)
	p.refused(exitFailure, "is in use by another process", "restore", backup)
	await(c.wins() + 100)
	code, _ := s.signal(syscall.SIGKILL)
	require.Equal(t, -1, code)
	c.under.Wait()

	// Without the command, people copy the file like this.
	by := filepath.Join(t.TempDir(), "mixed.db")
	for _, suffix := range []string{"", "-wal", "-shm"} {
		copyTo(t, path+suffix, by+suffix)
	}
	copyTo(t, backup, by)
	on(t, "sqlite:"+by).startsNot("does not belong to the database file " + by)
	on(t, "sqlite:"+by).startsNot("drawsvc restore FILE")

	require.Regexp(t, `^restored `+backup+`: 1 pool, \d+ awards, 0 violations\n$`, p.ok("restore", backup))
	require.Contains(t, p.ok("audit"), "1 pool, 0 violations")
	again := p.start()
	lost := 0
	for key, body := range c.won {
		first, _ := parseDraw(t, body)
		answer, replayed := again.won("spring", "u1", key)
		if _, wasThere := before[key]; wasThere {
			require.True(t, replayed, "acknowledged before the backup")
		}
		if replayed {
			require.Equal(t, first, answer)
		} else {
			lost++
		}
	}
	require.Positive(t, lost, "what came after the backup draws again")
	require.Contains(t, p.ok("audit"), "1 pool, 0 violations")
}

func copyTo(tb testing.TB, from, to string) {
	tb.Helper()
	source, err := os.Open(from)
	require.NoError(tb, err)
	defer source.Close()
	target, err := os.Create(to)
	require.NoError(tb, err)
	_, err = io.Copy(target, source)
	require.NoError(tb, err)
	require.NoError(tb, target.Close())
}

// TestReplacedWhileItIsServed: the database's files are renamed, and a backup replaces
// them.
func TestReplacedWhileItIsServed(t *testing.T) {
	t.Parallel()
	url := stocktest.Migrated(t, "sqlite")
	path := strings.TrimPrefix(url, "sqlite:")
	p := on(t, url)
	p.vars["DRAWSVC_ADMIN_TOKEN"] = "an-admin-token"
	p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1000000")
	backup := filepath.Join(t.TempDir(), "backup.db")
	p.ok("backup", backup)
	s := p.start()
	s.token = "an-admin-token"
	s.won("spring", "u1", "k1")
	rename(t, path, path+".old")
	rename(t, backup, path)
	s.refuses("spring")
	code, _ := s.signal(syscall.SIGTERM)
	require.Equal(t, exitOK, code, s.stderr.String())
	require.Contains(t, s.stderr.String(), "restart the service")

	s = p.start()
	_, replayed := s.won("spring", "u1", "k1")
	require.False(t, replayed, "the backup does not have it")
	code, _ = s.signal(syscall.SIGTERM)
	require.Equal(t, exitOK, code)
	require.Contains(t, p.ok("audit"), "0 violations")
	require.Contains(t, on(t, "sqlite:"+path+".old").ok("audit"), "0 violations", "the old one has it")
}

// TestDamagedWhileItIsServed: after the first page that cannot be read, nothing is
// acknowledged until a backup is restored.
func TestDamagedWhileItIsServed(t *testing.T) {
	t.Parallel()
	url := stocktest.Migrated(t, "sqlite")
	path := strings.TrimPrefix(url, "sqlite:")
	p := on(t, url)
	p.vars["DRAWSVC_ADMIN_TOKEN"] = "an-admin-token"
	p.ok("pool", "create", "a", "--prize", "id=gold,stock=1000000")
	p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1000000")
	s := p.start()
	var c crowd
	c.drawFrom(s.service, 16)
	require.Eventually(t, func() bool { return c.wins() >= 1000 }, commandMax, 2*time.Millisecond)
	code, _ := s.signal(syscall.SIGTERM)
	require.Equal(t, exitOK, code)
	c.under.Wait()
	backup := filepath.Join(t.TempDir(), "backup.db")
	p.ok("backup", backup)

	// The last key in the order of the index. The rows that the service reads for pool
	// "a" are on other pages.
	key := slices.MaxFunc(slices.Collect(maps.Keys(c.won)), func(x, y string) int {
		return cmp.Or(strings.Compare(x[:5], y[:5]), cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	})
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	const page = 4096
	for begin := 0; begin < len(content); begin += page {
		if part := content[begin : begin+page]; bytes.Contains(part, []byte(key)) {
			copy(part, strings.Repeat("damaged!", page/8))
		}
	}
	require.NoError(t, os.WriteFile(path, content, 0o600))

	s = p.start()
	s.token = "an-admin-token"
	s.won("a", "u1", "k1")
	status, body, err := s.draw("spring", "u1", key)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	s.refuses("a")
	code, _ = s.signal(syscall.SIGTERM)
	require.Equal(t, exitOK, code, s.stderr.String())
	p.startsNot("is refused: the file is damaged")
	p.ok("restore", backup)
	s = p.start()
	_, replayed := s.won("spring", "u1", key)
	require.True(t, replayed)
}

// TestBackupRefuses: a refusal is one line, and changes nothing.
func TestBackupRefuses(t *testing.T) {
	t.Parallel()
	p := on(t, stocktest.URL(t, "sqlite"))
	file := filepath.Join(t.TempDir(), "backup.db")
	p.refused(exitFailure, "there is no database file", "backup", file)
	p.refused(exitFailure, "the backup cannot be read", "restore", file)
	p.ok("pool", "create", "spring", "--prize", "id=gold,stock=3")
	p.ok("backup", file)
	tamper(t, "sqlite:"+file, `UPDATE prizes SET issued = 2`)
	p.refused(exitViolation, `pool "spring", issued-is-awards`, "restore", file)
	nowhere := filepath.Join(t.TempDir(), "absent", "backup.db")
	p.refused(exitFailure, "create "+nowhere+": no such file or directory", "backup", nowhere)
	for _, command := range []string{"backup", "restore"} {
		p.refused(exitUsage, "pg_basebackup or pg_dump", command, file, "--database", "postgres://u:hidden@h/d")
		p.refused(exitUsage, "mariadb-backup or mariadb-dump", command, file, "--database", "mysql://u:hidden@h/d")
	}
	require.Contains(t, p.ok("audit"), "0 violations")
}

// TestBackupNamesTheFullDisk: only the disk of the copy is full. The message names the
// file, and does not state that the database accepts no writes.
func TestBackupNamesTheFullDisk(t *testing.T) {
	t.Parallel()
	p := on(t, stocktest.URL(t, "sqlite"))
	p.ok("pool", "create", "spring", "--prize", "id=gold,stock=3")
	backup := filepath.Join(t.TempDir(), "backup.db")
	p.ok("backup", backup)
	disk := servertest.NewSmallDisk(t, t.TempDir(), 1<<20)
	require.NoError(t, disk.Fill())
	file := filepath.Join(disk.Dir, "backup.db")
	p.refused(exitFailure, "create "+file+": no space left on device", "backup", file)
	p.refused(exitFailure, "cannot be copied; the database is unchanged: write ", "restore", backup, "--database", "sqlite:"+filepath.Join(disk.Dir, "x.db"))
	require.NoError(t, disk.Free())
	p.ok("backup", file)
}
