package house

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// testEvent is an event of go test -json.
type testEvent struct{ Action, Package, Test, Output string }

// TestRerunHidesNothing: failed tests run once more, and the second result decides.
// Failures that a second run could hide stay failures: a leak that TestMain finds, a
// crash, a race, a package that does not build, and many failures.
func TestRerunHidesNothing(t *testing.T) {
	t.Parallel()
	const p = "drawsvc/p"
	late := []testEvent{{"fail", p, "TestLate/sub", ""}, {"fail", p, "TestLate", ""}, {"pass", p, "TestOther", ""}, {"fail", p, "", ""}}
	also := func(event testEvent) []testEvent { return append([]testEvent{event}, late...) }
	var many []testEvent
	for n := range 13 {
		many = append(many, testEvent{"fail", p, "Test" + strconv.Itoa(n), ""})
	}
	const again = "test -count=1 -p 3 -run ^(TestLate)$/^mysql$ " + p + "\n"
	for name, c := range map[string]struct {
		events []testEvent
		again  int // the exit code of the second run
		ran    string
		code   int
	}{
		"late":             {late, 0, again, 0},
		"broken":           {late, 1, again, 1},
		"leak":             {[]testEvent{{"pass", p, "TestOther", ""}, {"fail", p, "", ""}}, 0, "", 1},
		"leak beside late": {also(testEvent{"fail", "drawsvc/q", "", ""}), 0, "", 1},
		"panic":            {also(testEvent{"output", p, "", "panic: nil map\n"}), 0, "", 1},
		"fatal":            {also(testEvent{"output", p, "TestLate", "fatal error: concurrent map writes\n"}), 0, "", 1},
		"killed":           {also(testEvent{"output", p, "", "signal: killed\n"}), 0, "", 1},
		"race":             {also(testEvent{"output", p, "TestLate", "    WARNING: DATA RACE\n"}), 0, "", 1},
		"no build":         {also(testEvent{"build-fail", "drawsvc/q", "", ""}), 0, "", 1},
		"many":             {many, 0, "", 1},
		"none":             {nil, 0, "", 1},
	} {
		dir := t.TempDir()
		var file bytes.Buffer
		for _, event := range c.events {
			require.NoError(t, json.NewEncoder(&file).Encode(event))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "events"), file.Bytes(), 0o600))
		ran := filepath.Join(dir, "ran")
		fake := "#!/bin/sh\necho \"$@\" >>" + ran + "\nexit " + strconv.Itoa(c.again) + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte(fake), 0o700)) //nolint:gosec // it has to run
		cmd := exec.CommandContext(t.Context(), filepath.Join(root, ".ci/rerun"), filepath.Join(dir, "events"), "-p", "3", "-run", "^(TestLate|TestOther)$/^mysql$", "-skip", "^TestSlow$")
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		text, _ := os.ReadFile(ran)
		require.Equal(t, c.ran, string(text), "%s: %s", name, out)
		require.Equal(t, c.code, cmd.ProcessState.ExitCode(), "%s: %s %v", name, out, err)
	}
}
