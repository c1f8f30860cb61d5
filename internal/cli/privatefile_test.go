package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/setting"
	"drawsvc/internal/stock/stocktest"
)

// linkOf creates a link that belongs to the account with the number owner.
func linkOf(t *testing.T, target string, owner int) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(target, link))
	if err := os.Lchown(link, owner, -1); err != nil {
		require.NotZero(t, os.Geteuid(), "root can give links away: %v", err)
		t.Logf("an account other than root cannot give links away, so only own ones are tested")
		return ""
	}
	return link
}

// TestPrivateFilesAndLinks: a link that belongs to this account or to root is followed,
// and a link of another account is not. The broken double, os.ReadFile, follows both.
func TestPrivateFilesAndLinks(t *testing.T) {
	t.Parallel()
	const other = 65534
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("a-token-of-the-tests"), 0o600))
	for _, path := range []string{file, linkOf(t, file, os.Geteuid())} {
		text, err := setting.ReadPrivate(path)
		require.NoError(t, err)
		require.Equal(t, "a-token-of-the-tests", string(text))
	}
	_, err := setting.ReadPrivate(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = setting.ReadPrivate(t.TempDir())
	require.Error(t, err, "a folder")
	require.NoError(t, os.Truncate(file, setting.PrivateMax+1))
	_, err = setting.ReadPrivate(file)
	require.ErrorContains(t, err, "is larger than")
	require.NoError(t, os.Truncate(file, 20))

	planted := linkOf(t, file, other)
	if planted == "" {
		return
	}
	_, err = setting.ReadPrivate(planted)
	require.ErrorContains(t, err, "belongs to another account")
	_, err = os.ReadFile(planted)
	require.NoError(t, err, "the double")
	p := on(t, stocktest.URL(t, "sqlite"))
	for _, flag := range []string{"--admin-token-file", "--tokens", "--database-file"} {
		o := p.run("doctor", flag, planted)
		require.NotEqual(t, exitOK, o.code)
		require.Contains(t, o.message, "is a link that belongs to another account: it is not followed", flag)
	}
}

// TestLockFileIsNoLink: a link of another account next to a database does not make the
// service create the link's target.
func TestLockFileIsNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	require.NoError(t, os.Symlink(victim, filepath.Join(dir, "draws.db.lock")))
	o := on(t, "sqlite:"+filepath.Join(dir, "draws.db")).run("migrate", "up")
	require.Equal(t, exitFailure, o.code)
	require.NoFileExists(t, victim)
}
