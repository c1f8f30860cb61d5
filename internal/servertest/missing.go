package servertest

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// verdict is what becomes of a test whose server did not start.
type verdict int

const (
	skip verdict = iota
	fail
)

// errShort says that a run is short.
var errShort = errors.New("go test -short starts no servers, browsers or other programs of packages, and nothing that takes long")

// isShort says whether tests run, and with -short.
func isShort() bool { return testing.Testing() && testing.Short() }

// judge decides: a missing package may be skipped on a person's machine, and
// a server where he asked for a short run, but a pipeline that skips would stay
// green without having tested anything. A server that is there and does not
// start is a failure everywhere.
func judge(err error, ci string) verdict {
	_, missing := errors.AsType[*missingError](err)
	if ci != "true" && (missing || errors.Is(err, errShort)) {
		return skip
	}
	return fail
}

// giveUp ends the test: it is the one place in the repository that skips.
func giveUp(tb testing.TB, err error) {
	tb.Helper()
	if judge(err, os.Getenv("CI")) == skip {
		if errors.Is(err, errShort) {
			tb.Skip(err) // as he wished
		}
		tellPerson(fmt.Sprintf("SKIPPED %s: %v\n", tb.Name(), err))
		tb.Skip(err)
	}
	tb.Fatal(err)
}

// Missing ends a test that needs what is not here and what no package brings,
// such as the history of the repository: it is skipped as for a missing server,
// and fails where CI=true.
func Missing(tb testing.TB, what string) {
	tb.Helper()
	giveUp(tb, &missingError{program: what})
}

// Long ends, in a short run, a test that takes many seconds.
func Long(tb testing.TB) {
	tb.Helper()
	if isShort() {
		giveUp(tb, errShort)
	}
}

// tellPerson writes to the terminal, where there is one: of several packages
// go test shows neither the skips nor the stderr of those that pass.
func tellPerson(line string) {
	terminal, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		_, _ = os.Stderr.WriteString(line)
		return
	}
	defer terminal.Close()
	_, _ = terminal.WriteString(line)
}

// NeedPrograms ends the test where one of the commands that it calls is not
// installed, as it ends where a server is missing, and in a short run. packages
// says what to install.
func NeedPrograms(tb testing.TB, packages string, programs ...string) {
	tb.Helper()
	Long(tb)
	for _, program := range programs {
		if findProgram(program, nil) == "" {
			giveUp(tb, &missingError{program: program, packages: packages})
		}
	}
}
