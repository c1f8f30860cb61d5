package experiments

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"drawsvc/internal/page"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// backupPage is where the commands stand that the shell executes.
const backupPage = "docs/backup.md"

// prelude stands before each block. STATE keeps the variables from one block to
// the next.
const prelude = `set -eE -o pipefail
if [ -e "$STATE" ]; then . "$STATE"; fi
set -a
trap 'export -p | grep -v "^declare -x STATE=" >"$STATE"' EXIT
drawsvc() { "$PROGRAM" "$@"; }
`

// shell is where an operator works through the page.
type shell struct {
	work   string
	env    []string
	blocks map[string]string
}

// newShell makes a shell with what the page calls the values of a harness.
func newShell(t *trial) *shell {
	text, err := os.ReadFile(backupPage)
	t.Must(err)
	program, err := filepath.Abs(filepath.Join(stage.Bin, stage.Released))
	t.Must(err)
	s := &shell{work: t.Site.TempDir()}
	s.blocks, err = page.Blocks(string(text))
	t.Must(err)
	s.env = []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "HOME=" + s.work, "STATE=" + filepath.Join(s.work, "state"), "PROGRAM=" + program,
		"DRAWSVC_DATABASE=" + t.URL, "BACKUPS=" + t.Site.TempDir(), "ADMIN_TOKEN=" + harness.AdminToken, "SERVICE=" + t.Instances[0].URL(),
	}
	if t.Server == nil {
		return s
	}
	restored, err := url.Parse(t.URL)
	t.Must(err)
	restored.Path += "_restored"
	at, err := url.Parse(t.Server.URL())
	t.Must(err)
	if t.Kind == "mysql" { // where the service's account has rights on its own database alone
		restored.User = at.User
	}
	s.env = append(s.env, "RESTORED="+restored.String())
	t.Must(s.asOwner(t.Kind, at))
	return s
}

// asOwner lets the database's own programs find the server, with the account
// that owns it.
func (s *shell) asOwner(kind string, at *url.URL) error {
	password, _ := at.User.Password()
	if kind == "postgres" {
		s.env = append(s.env, "PGHOST="+at.Hostname(), "PGPORT="+at.Port(), "PGUSER="+at.User.Username(), "PGPASSWORD="+password, "PGDATABASE="+pageDatabase)
		return nil
	}
	account := fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=%s\npassword=%s\n", at.Hostname(), at.Port(), at.User.Username(), password)
	return os.WriteFile(filepath.Join(s.work, ".my.cnf"), []byte(account), 0o600)
}

// do executes blocks of the page as they stand there.
func (r *restore) do(names ...string) error {
	for _, name := range names {
		block, ok := r.blocks[name]
		if !ok {
			return fmt.Errorf("%s has no block %s", backupPage, name)
		}
		if err := r.execute(block); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// execute executes commands in the page's shell.
func (r *restore) execute(commands string) error {
	cmd := exec.CommandContext(r.Ctx, "bash", "-c", prelude+commands)
	cmd.Dir, cmd.Env = r.work, r.shell.env
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, strings.TrimSpace(string(output)))
	}
	return nil
}
