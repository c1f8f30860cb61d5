package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unhurried removes from a log the lines about slow examinations of SQLite files. Tests
// begin with copies, which the service examines, and a busy machine may need more than
// a second for that.
func unhurried(log string) string {
	var kept strings.Builder
	for line := range strings.Lines(log) {
		if !strings.Contains(line, "the database file is being examined before it is used") &&
			!strings.Contains(line, "the database file was examined and is in order") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// TestCommandsLogNothing: a command reports on its standard output, and prints nothing
// to standard error. A separate process also shows what is written to the default log.
func TestCommandsLogNothing(t *testing.T) {
	t.Parallel()
	p := on(t, "sqlite:"+filepath.Join(t.TempDir(), "x.db"))
	for _, args := range [][]string{
		{"pool", "create", "spring", "--prize", "id=gold,stock=1"}, {"stock", "add", "--pool", "spring", "--prize", "gold", "--delta", "1", "--reason", "more"},
		{"pool", "close", "spring"}, {"pool", "archive", "spring"}, {"pool", "delete", "spring"},
	} {
		var stderr bytes.Buffer
		cmd := p.command(args...)
		cmd.Stderr = &stderr
		said, err := cmd.Output()
		require.NoError(t, err, "%v: %s", args, &stderr)
		require.NotEmpty(t, said, "%v", args)
		require.Empty(t, unhurried(stderr.String()), "%v", args)
	}
}

// TestJobsBeforeTheFirstStart: a database that was never served has no jobs, and the
// commands state why.
func TestJobsBeforeTheFirstStart(t *testing.T) {
	t.Parallel()
	p := on(t, "sqlite:"+filepath.Join(t.TempDir(), "x.db"))
	p.ok("migrate", "up")
	p.refused(exitFailure, `there is no job "audit" yet: the first start of the service creates it`, "job", "show", "audit")
	p.refused(exitFailure, `there is no job "audit" yet`, "job", "run", "audit")
	p.refused(exitFailure, `there is no job "frob"`, "job", "show", "frob")
}
