package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
	"drawsvc/loadtest/report"
)

type settings struct {
	awards      int64
	checkpoints int64
	folder      string
}

func main() { harness.Main("proofs", parse, prove) }

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("proofs", flag.ContinueOnError)
	flags.Int64Var(&s.awards, "awards", 10_000_000, "awards of the log, each a draw of its own; ten million take 1.8 GB")
	flags.Int64Var(&s.checkpoints, "checkpoints", restocks, "checkpoints of the log; a publisher signs 600,000 in a week")
	flags.StringVar(&s.folder, "folder", "", "folder for the files, which is kept; one that holds files already is verified as it is")
	if err = harness.Parse(flags, args); err == nil && (s.awards < 1 || s.checkpoints < 1) {
		err = errors.New("--awards and --checkpoints are 1 or more")
	}
	return s, err
}

// bin is the folder of the built service.
const bin = place.Bin + "/proofs"

// verifiers returns both verifiers, with their bounds for ten million awards. The
// bounds are the same for fewer awards, because starting a verifier takes time too.
func verifiers() []verifier {
	return []verifier{
		{name: "drawsvc verify", command: []string{filepath.Join(bin, "drawsvc"), "verify"}, longest: time.Minute, most: 300 << 20},
		{name: "verify.py", command: []string{"python3", "docs/verify/verify.py"}, longest: 5 * time.Minute},
	}
}

func prove(ctx context.Context, s settings, out io.Writer) error {
	err := place.Build(ctx, bin, place.Service())
	if err != nil {
		return err
	}
	if s.folder == "" {
		if s.folder, err = os.MkdirTemp("", "drawsvc-proofs-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(s.folder) }()
	}
	if err := s.fill(out); err != nil {
		return err
	}
	var broken []error
	harness.Say(out, "%s", report.Row("verifier", "took", "of which computing", "memory at most", "says"))
	for _, v := range verifiers() {
		m, err := v.run(ctx, s.folder)
		if err != nil {
			return err
		}
		harness.Say(out, "%s", report.Row(v.name, m.Took.Round(time.Second/10).String(), m.Computing.Round(time.Second/10).String(),
			fmt.Sprintf("%.0f MB", float64(m.Memory)/(1<<20)), m.Says))
		broken = append(broken, v.judge(m))
	}
	return errors.Join(broken...)
}

// fill writes the files if the folder is empty.
func (s *settings) fill(out io.Writer) error {
	if _, err := os.Stat(filepath.Join(s.folder, "reveal")); err == nil {
		return nil
	}
	begun := time.Now()
	size, err := write(s.folder, s.awards, s.checkpoints)
	if err == nil {
		harness.Say(out, "%d awards, %.2f GB, written in %v\n", s.awards, float64(size)/1e9, time.Since(begun).Round(time.Second/10))
	}
	return err
}

// verifier is a program that verifies a folder, with its bounds.
type verifier struct {
	name    string
	command []string
	longest time.Duration
	most    int64 // bytes; 0 for no bound
}

func (v *verifier) run(ctx context.Context, folder string) (harness.Measured, error) {
	return harness.Measure(exec.CommandContext(ctx, v.command[0], append(v.command[1:len(v.command):len(v.command)], folder)...))
}

// judge returns the faults of a verification.
func (v *verifier) judge(m harness.Measured) error {
	switch {
	case m.Code != 0:
		return fmt.Errorf("%s ended with code %d: %s", v.name, m.Code, m.Says)
	case min(m.Took, m.Computing) > v.longest: // on a machine with other work, its processor time is shorter than its duration
		return fmt.Errorf("%s took %v, of which it computed for %v, and may take %v", v.name, m.Took, m.Computing, v.longest)
	case v.most > 0 && m.Memory > v.most:
		return fmt.Errorf("%s took %d MB of memory, and may take %d", v.name, m.Memory>>20, v.most>>20)
	}
	return nil
}
