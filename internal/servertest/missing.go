package servertest

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// verdict is what happens to a test whose server did not start.
type verdict int

const (
	skip verdict = iota
	fail
)

// errShort means that a run is short.
var errShort = errors.New("go test -short starts no servers, browsers or other programs of packages, and nothing that takes long")

// isShort reports whether tests run with -short.
func isShort() bool { return testing.Testing() && testing.Short() }

// judge returns the verdict. On a person's machine, a test without its package may be
// skipped, and so may a server in a short run. A pipeline that skips would stay green
// without having tested anything. A server that is installed and does not start is a
// failure everywhere.
func judge(err error, ci string) verdict {
	_, missing := errors.AsType[*missingError](err)
	if ci != "true" && (missing || errors.Is(err, errShort)) {
		return skip
	}
	return fail
}

// giveUp ends the test: it is the only place in the repository that skips.
func giveUp(tb testing.TB, err error) {
	tb.Helper()
	if judge(err, os.Getenv("CI")) == skip {
		if errors.Is(err, errShort) {
			tb.Skip(err) // as requested
		}
		tellPerson(fmt.Sprintf("SKIPPED %s: %v\n", tb.Name(), err))
		tb.Skip(err)
	}
	tb.Fatal(err)
}

// Missing ends a test that needs something that is missing here and that no package
// provides, such as the history of the repository. The test is skipped as for a missing
// server, and fails if CI=true.
func Missing(tb testing.TB, what string) {
	tb.Helper()
	giveUp(tb, &missingError{program: what})
}

// Long ends a test that takes many seconds if the run is short.
func Long(tb testing.TB) {
	tb.Helper()
	if isShort() {
		giveUp(tb, errShort)
	}
}

// tellPerson writes to the terminal, if there is one: for several packages go test
// shows neither the skips nor the stderr of those that pass.
func tellPerson(line string) {
	terminal, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		_, _ = os.Stderr.WriteString(line)
		return
	}
	defer terminal.Close()
	_, _ = terminal.WriteString(line)
}

// NeedPrograms ends the test if one of the commands that it calls is not installed, as
// if a server were missing, and in a short run. packages is what to install.
func NeedPrograms(tb testing.TB, packages string, programs ...string) {
	tb.Helper()
	Long(tb)
	for _, program := range programs {
		if findProgram(program, nil) == "" {
			giveUp(tb, &missingError{program: program, packages: packages})
		}
	}
}
