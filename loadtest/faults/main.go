package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"drawsvc/loadtest/site"
)

// settings are the command line.
type settings struct {
	do      string
	quick   bool
	list    bool
	merge   bool
	only    *regexp.Regexp
	runs    int
	seed    uint64
	lasting time.Duration
	results string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout)
	stop()
	os.Exit(code)
}

// run returns the exit code: 0 all held, 1 something broke, 2 usage.
func run(ctx context.Context, args []string, out io.Writer) int {
	s, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	do := map[string]func(context.Context, settings, io.Writer) error{"": prove, "soak": soak, "doc": writePage}[s.do]
	if err := do(ctx, s, out); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		return 1
	}
	return 0
}

// parse reads the command line and the environment variables SEED and
// DURATION, which flags beat.
func parse(args []string) (settings, error) {
	s := settings{seed: rand.Uint64() >> 12, lasting: time.Hour} // few digits are copied more easily
	if len(args) > 0 && (args[0] == "soak" || args[0] == "doc") {
		s.do, args = args[0], args[1:]
	}
	var err error
	if text := os.Getenv("SEED"); text != "" {
		if s.seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			return s, fmt.Errorf("SEED: %w", err)
		}
	}
	if text := os.Getenv("DURATION"); text != "" {
		if s.lasting, err = time.ParseDuration(text); err != nil {
			return s, fmt.Errorf("DURATION: %w", err)
		}
	}
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.BoolVar(&s.quick, "quick", false, "the sharpest, on SQLite and PostgreSQL, in under four minutes")
	flags.BoolVar(&s.list, "list", false, "print the names of all cells and end")
	flags.BoolVar(&s.merge, "merge", false, "put the results of a part in the place of the same cells' among those of the whole")
	only := flags.String("only", "", "run only the cells whose name matches this regular expression")
	flags.IntVar(&s.runs, "runs", 1, "how often each cell is run, each time with another seed")
	flags.Uint64Var(&s.seed, "seed", s.seed, "what the schedule is made of")
	flags.DurationVar(&s.lasting, "duration", s.lasting, "how long the soak lasts")
	flags.StringVar(&s.results, "results", "", "folder for the results (default loadtest/faults/results, or its folder part for a part)")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	if flags.NArg() > 0 || s.runs < 1 {
		return s, fmt.Errorf("unknown argument %q, or fewer runs than one", flags.Arg(0))
	}
	if s.only, err = regexp.Compile(*only); err != nil {
		return s, fmt.Errorf("--only: %w", err)
	}
	if s.results == "" {
		s.results = "loadtest/faults/results"
		if (s.quick || *only != "") && !s.merge {
			s.results += "/part" // what is published is the whole
		}
	}
	return s, nil
}

// prove runs all cells and publishes the results. Its error is the verdict.
func prove(ctx context.Context, s settings, out io.Writer) error {
	list := cells(s)
	if s.list {
		for _, c := range list {
			say(out, "%s\n", c.name())
		}
		return nil
	}
	begin := time.Now()
	say(out, "SEED=%d\nbuilding the service, and the programs that have to be condemned\n", s.seed)
	if err := build(ctx, list...); err != nil {
		return err
	}
	var results []result
	interrupted := false
	err := site.On("faults", func(whole *site.Site) error {
		g := newGround(whole)
		for i, c := range list {
			for n := range s.runs {
				if interrupted = ctx.Err() != nil; interrupted {
					return nil // what has been run is worth something
				}
				say(out, "[%3d/%d] %-62s ", i+1, len(list), c.name())
				r := g.try(ctx, c, seedOf(s.seed, c.name(), n))
				if interrupted = ctx.Err() != nil; interrupted {
					return nil // so was this cell
				}
				say(out, "%s\n", r.line(s.seed))
				results = append(results, r)
				if c.condemned != nil && !r.Passed {
					return errors.New("a program that is broken was not condemned, so that no other verdict means anything")
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if interrupted {
		if !s.merge { // what is published is the whole
			return errors.New("interrupted")
		}
		return errors.Join(errors.New("interrupted"), publish(s, out, results, time.Since(begin)))
	}
	return publish(s, out, results, time.Since(begin))
}

// say prints to a terminal, where a failed write has no one to be told to.
func say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
