package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"drawsvc/loadtest/harness"
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

// bin is where the service is built.
const bin = "loadtest/bin/proofs"

// verifiers are both, with what they may take for ten million awards. Of fewer
// they may take as much: a verifier has to start.
func verifiers() []verifier {
	return []verifier{
		{name: "drawsvc verify", command: []string{filepath.Join(bin, "drawsvc"), "verify"}, longest: time.Minute, most: 300 << 20},
		{name: "verify.py", command: []string{"python3", "docs/verify/verify.py"}, longest: 5 * time.Minute},
	}
}

func prove(ctx context.Context, s settings, out io.Writer) error {
	err := harness.Build(ctx, "loadtest/proofs/doc.go", bin, func(to string) [][]string {
		return [][]string{{"build", "-trimpath", "-o", filepath.Join(to, "drawsvc"), "./cmd/drawsvc"}}
	})
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
	harness.Say(out, "%s", harness.TableRow("verifier", "took", "of which computing", "memory at most", "says"))
	for _, v := range verifiers() {
		m, err := v.run(ctx, s.folder)
		if err != nil {
			return err
		}
		harness.Say(out, "%s", harness.TableRow(v.name, m.took.Round(time.Second/10).String(), m.computing.Round(time.Second/10).String(),
			fmt.Sprintf("%.0f MB", float64(m.memory)/(1<<20)), m.says))
		broken = append(broken, v.judge(m))
	}
	return errors.Join(broken...)
}

// fill writes the files where the folder has none.
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
