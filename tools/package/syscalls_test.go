package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// syscallSets returns the sets of system calls that systemd defines, by their names. A
// set contains calls and other sets.
func syscallSets(t *testing.T) map[string][]string {
	t.Helper()
	sets, name := map[string][]string{}, ""
	for line := range strings.Lines(ok(t, []string{"SYSTEMD_COLORS=0"}, "systemd-analyze", "--no-pager", "syscall-filter")) {
		word := strings.TrimSpace(line)
		switch {
		case word == "" || strings.HasPrefix(word, "#"):
		case !strings.HasPrefix(line, " "):
			name = word
		default:
			sets[name] = append(sets[name], word)
		}
	}
	require.NotEmpty(t, sets["@system-service"])
	return sets
}

// passed returns the system calls that the filters of a unit allow: the calls of the
// first line, minus those of the lines that begin with a tilde.
func passed(t *testing.T, unit string) map[string]bool {
	t.Helper()
	sets, all := syscallSets(t), map[string]bool{}
	var apply func(name string, allow bool)
	apply = func(name string, allow bool) {
		if strings.HasPrefix(name, "@") {
			for _, member := range sets[name] {
				apply(member, allow)
			}
			return
		}
		all[name] = allow
	}
	apply("@default", true) // systemd adds it
	for _, filter := range regexp.MustCompile(`(?m)^SystemCallFilter=(~?)(.*)$`).FindAllStringSubmatch(unit, -1) {
		for name := range strings.FieldsSeq(filter[2]) {
			apply(name, filter[1] == "")
		}
	}
	return all
}

// rejected returns the system calls of a trace that a unit does not allow. It ignores
// calls that systemd itself makes to start the process and set its account.
func rejected(t *testing.T, unit, trace string) (names []string) {
	t.Helper()
	allowed := passed(t, unit)
	for _, call := range regexp.MustCompile(`(?m)^\d+ +([a-z_0-9]+)\(`).FindAllStringSubmatch(trace, -1) {
		if !allowed[call[1]] && !slices.Contains(names, call[1]) {
			names = append(names, call[1])
		}
	}
	return names
}

// TestUnitLetsTheServiceWork traces a service that draws, on SQLite and on a database
// server, under an account without rights. The unit's filters must allow every system
// call.
func TestUnitLetsTheServiceWork(t *testing.T) {
	t.Parallel()
	needs(t, "systemd strace", "systemd-analyze", "strace")
	if os.Getuid() != 0 {
		servertest.Missing(t, "the rights of root, to trace another account")
	}
	unit := read(t, unitFile)
	for _, database := range []string{"sqlite:drawsvc.db", servertest.Postgres(t)} {
		folder := t.TempDir()
		require.NoError(t, os.Chmod(filepath.Dir(folder), 0o755))
		require.NoError(t, os.Chown(folder, nonroot, nonroot))
		binary := filepath.Join(folder, "drawsvc")
		text, err := os.ReadFile(program(t))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(binary, text, 0o755))
		listen, trace := servertest.FreeAddr(t), filepath.Join(folder, "trace")
		service := startAs(t, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nonroot, Gid: nonroot}}, folder,
			[]string{"PATH=" + os.Getenv("PATH"), "DRAWSVC_DATABASE=" + database, "DRAWSVC_LISTEN=" + listen, "DRAWSVC_MIGRATE=true", "DRAWSVC_ADMIN_TOKEN=an-admin-token-of-the-test"},
			"strace", "-f", "-qq", "-o", trace, binary, "serve")
		service.answers("http://"+listen+"/readyz", 200)
		makePool(t, listen, "an-admin-token-of-the-test")
		wins(t, listen, "p", "Authorization", "Bearer an-admin-token-of-the-test")
		first, err := strconv.Atoi(strings.Fields(readFile(t, trace))[0]) // the process of the service
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(first, syscall.SIGTERM))
		t.Cleanup(func() {
			select {
			case <-service.ended:
			default:
				_ = syscall.Kill(first, syscall.SIGKILL) // without strace, the service would continue
			}
		})
		service.succeeds()
		calls := readFile(t, trace)
		require.Contains(t, calls, "accept4(")
		require.Empty(t, rejected(t, unit, calls))
		broken := strings.Replace(unit, "~@privileged", "~@network-io @privileged", 1)
		require.Contains(t, rejected(t, broken, calls), "accept4", "a filter that is too narrow is caught")
	}
}
