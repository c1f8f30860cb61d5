package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"time"

	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/report"
)

// settings are the command line.
type settings struct {
	harness.Selection
	do string
}

func main() { harness.Main("matrix", parse, run) }

func parse(args []string) (s settings, err error) {
	const folder = "loadtest/results"
	s.do, args = harness.Command(args, "doc")
	flags := flag.NewFlagSet("matrix", flag.ContinueOnError)
	s.Flags(flags, "the same shape with fewer cells, in under three minutes", folder)
	err = harness.Parse(flags, args)
	s.Settle(folder, false)
	return s, err
}

// run runs the proof, or creates page and picture from existing results.
func run(ctx context.Context, s settings, out io.Writer) error {
	if s.do == "" {
		return prove(ctx, s, out)
	}
	p, err := report.Read[published](filepath.Join(s.Results, "matrix.json"))
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(s.Results, "matrix.md"), []byte(p.markdown()), 0o644), drawPicture(s.Results))
}

// prove runs all cells and writes the results. Its error is the verdict.
func prove(ctx context.Context, s settings, out io.Writer) error {
	begin := time.Now()
	harness.Say(out, "building k6, the service and the textbook programs (the first time takes minutes)\n")
	if err := build(ctx); err != nil {
		return err
	}
	var results []result
	err := harness.On("matrix", func(whole *harness.Site) error {
		g := newGround(whole) //nolint:contextcheck // servers for tests bound their own waits
		list := cells(s)
		for i, c := range list {
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			harness.Say(out, "[%2d/%2d] %-66s ", i+1, len(list), c.name())
			r := g.run(ctx, c)
			harness.Say(out, "%s\n", r.line())
			if r.HasFailed() {
				harness.Say(out, "%s\n", indent(r.output))
			}
			results = append(results, r)
			if c.control() && !r.Passed {
				return errors.New("the load test did not catch a program that over-issues, so it would catch nothing")
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return publish(s, out, results, time.Since(begin))
}
