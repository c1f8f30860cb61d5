package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	"drawsvc/loadtest/site"
)

// settings are the command line.
type settings struct {
	quick   bool
	only    *regexp.Regexp
	results string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout)
	stop()
	os.Exit(code)
}

// run returns the exit code: 0 proved, 1 a cell failed, 2 usage.
func run(ctx context.Context, args []string, out io.Writer) int {
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if err := prove(ctx, s, out); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		return 1
	}
	return 0
}

func parse(args []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("matrix", flag.ContinueOnError)
	flags.BoolVar(&s.quick, "quick", false, "the same shape with fewer cells, in under three minutes")
	only := flags.String("only", "", "run only the cells whose name matches this regular expression")
	flags.StringVar(&s.results, "results", "", "folder for the results (default loadtest/results, or loadtest/results/part for a part of the matrix)")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 {
		return s, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	var err error
	if s.only, err = regexp.Compile(*only); err != nil {
		return s, fmt.Errorf("--only: %w", err)
	}
	if s.results == "" {
		s.results = "loadtest/results"
		if s.quick || *only != "" {
			s.results += "/part" // what is published is the whole
		}
	}
	return s, nil
}

// prove runs all cells and writes the results. Its error is the verdict.
func prove(ctx context.Context, s settings, out io.Writer) error {
	begin := time.Now()
	say(out, "building k6, the service and the textbook programs (the first time takes minutes)\n")
	if err := build(ctx); err != nil {
		return err
	}
	var results []result
	err := site.On("matrix", func(whole *site.Site) error {
		g := newGround(whole) //nolint:contextcheck // servers for tests bound their own waits
		list := cells(s)
		for i, c := range list {
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			say(out, "[%2d/%2d] %-66s ", i+1, len(list), c.name())
			r := g.run(ctx, c)
			say(out, "%s\n", r.line())
			if !r.Passed && !r.skipped() {
				say(out, "%s\n", indent(r.output))
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

// say prints to a terminal, where nobody handles a failed write.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
