package servertest

import (
	"errors"
	"fmt"
	"os"
	"testing"
)

// verdict states what happens to a test whose server did not start.
type verdict int

const (
	skip verdict = iota
	fail
)

// errShort is the error of starting a server in a short run.
var errShort = errors.New("go test -short starts no servers, browsers or other programs of packages, and nothing that takes long")

// isShort reports whether tests run with -short.
func isShort() bool { return testing.Testing() && testing.Short() }

// judge returns the verdict. On a developer's machine, a test may be skipped if a package
// is missing, or if the run is short. In a pipeline it fails; otherwise the pipeline
// would succeed without having tested anything. If a server is installed but does not
// start, the test always fails.
func judge(err error, ci string) verdict {
	_, missing := errors.AsType[*missingError](err)
	if ci != "true" && (missing || errors.Is(err, errShort)) {
		return skip
	}
	return fail
}

// giveUp ends the test. Tests are skipped nowhere else in the repository.
func giveUp(tb testing.TB, err error) {
	tb.Helper()
	if judge(err, os.Getenv("CI")) == skip {
		if errors.Is(err, errShort) {
			tb.Skip(err) // a short run was requested
		}
		tellPerson(fmt.Sprintf("SKIPPED %s: %v\n", tb.Name(), err))
		tb.Skip(err)
	}
	tb.Fatal(err)
}

// Missing ends a test that needs something that no package provides, such as the history
// of the repository. As for a missing server, the test is skipped; with CI=true it fails.
func Missing(tb testing.TB, what string) {
	tb.Helper()
	giveUp(tb, &missingError{program: what})
}

// Long skips a test that takes many seconds if the run is short.
func Long(tb testing.TB) {
	tb.Helper()
	if isShort() {
		giveUp(tb, errShort)
	}
}

// tellPerson writes to the terminal, if there is one. If go test runs several packages,
// it does not show skips, or stderr of packages that pass.
func tellPerson(line string) {
	terminal, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil {
		_, _ = os.Stderr.WriteString(line)
		return
	}
	defer terminal.Close()
	_, _ = terminal.WriteString(line)
}

// NeedPrograms ends the test if one of the given commands is not installed, as if a
// server were missing. It also ends the test in a short run. packages are the packages to
// install.
func NeedPrograms(tb testing.TB, packages string, programs ...string) {
	tb.Helper()
	Long(tb)
	for _, program := range programs {
		if findProgram(program, nil) == "" {
			giveUp(tb, &missingError{program: program, packages: packages})
		}
	}
}
