package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
		harness.Say(out, "%s", report.Row(v.name, m.took.Round(time.Second/10).String(), m.computing.Round(time.Second/10).String(),
			fmt.Sprintf("%.0f MB", float64(m.memory)/(1<<20)), m.says))
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

type measured struct {
	took, computing time.Duration
	memory          int64 // peak resident memory in bytes
	code            int
	says            string // the last line
}

func (v *verifier) run(ctx context.Context, folder string) (m measured, err error) {
	command := exec.CommandContext(ctx, v.command[0], append(v.command[1:len(v.command):len(v.command)], folder)...)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	begun := time.Now()
	if err := command.Start(); err != nil {
		return m, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for isRunning := true; isRunning; {
		select {
		case err = <-ended:
			isRunning = false
		case <-time.After(readEvery):
			m.memory = max(m.memory, mostMemory(command.Process.Pid))
		}
	}
	if _, is := errors.AsType[*exec.ExitError](err); err != nil && !is {
		return m, err
	}
	state := command.ProcessState
	lines := strings.Split(strings.TrimSpace(output.String()), "\n")
	m.took, m.computing = time.Since(begun), state.UserTime()+state.SystemTime()
	m.code, m.says = state.ExitCode(), lines[len(lines)-1]
	return m, nil
}

// readEvery is how often a verifier's memory is read. The figure that the system
// returns when it ends is useless: it includes the memory that this program had when it
// started the verifier.
const readEvery = 50 * time.Millisecond

// judge returns the faults of a verification.
func (v *verifier) judge(m measured) error {
	switch {
	case m.code != 0:
		return fmt.Errorf("%s ended with code %d: %s", v.name, m.code, m.says)
	case min(m.took, m.computing) > v.longest: // on a machine with other work, its processor time is shorter than its duration
		return fmt.Errorf("%s took %v, of which it computed for %v, and may take %v", v.name, m.took, m.computing, v.longest)
	case v.most > 0 && m.memory > v.most:
		return fmt.Errorf("%s took %d MB of memory, and may take %d", v.name, m.memory>>20, v.most>>20)
	}
	return nil
}
