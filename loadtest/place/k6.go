package place

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// RunScript runs a load script with options as NAME=VALUE, and further arguments of k6.
// The options are variables of its environment, because some are tokens, and command
// lines are visible to everyone on the machine. It returns k6's exit code and output,
// and an error only if k6 could not be run at all.
func RunScript(ctx context.Context, script string, options []string, more ...string) (exit int, output string, err error) {
	args := []string{"run", "--quiet", "--no-usage-report", "--log-format", "raw", "--no-color"}
	cmd := exec.CommandContext(ctx, filepath.Join(Bin, "k6"), append(append(args, more...), "loadtest/k6/"+script+".js")...)
	cmd.Env = slices.Concat(os.Environ(), options, []string{"K6_AUTO_EXTENSION_RESOLUTION=false", "K6_CSV_TIME_FORMAT=unix_milli"})
	text, err := cmd.CombinedOutput()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return ended.ExitCode(), string(text), nil
	}
	if err != nil {
		err = fmt.Errorf("run k6: %w", err)
	}
	return 0, string(text), err
}
