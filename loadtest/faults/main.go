package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/experiments"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

type settings struct {
	do      string
	list    bool
	merge   bool
	runs    int
	seed    uint64
	lasting time.Duration
	harness.Selection
}

func main() {
	harness.Main("faults", parse, func(ctx context.Context, s settings, out io.Writer) error {
		do := map[string]func(context.Context, settings, io.Writer) error{"": prove, "soak": soak, "doc": writePage}[s.do]
		return do(ctx, s, out)
	})
}

// parse reads the command line, and the environment variables SEED and DURATION, which
// flags override.
func parse(args []string) (settings, error) {
	s := settings{seed: rand.Uint64() >> 12, lasting: time.Hour} // few digits are easier to copy
	s.do, args = harness.Command(args, "soak", "doc")
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
	const folder = "loadtest/faults/results"
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	s.Flags(flags, "the sharpest, on SQLite and PostgreSQL, in under four minutes", folder)
	flags.BoolVar(&s.list, "list", false, "print the names of all cells and end")
	flags.BoolVar(&s.merge, "merge", false, "put the results of a part in the place of the same cells' among those of the whole")
	flags.IntVar(&s.runs, "runs", 1, "how often each cell is run, each time with another seed")
	flags.Uint64Var(&s.seed, "seed", s.seed, "what the schedule is made of")
	flags.DurationVar(&s.lasting, "duration", s.lasting, "how long the soak lasts")
	if err = harness.Parse(flags, args); err == nil && s.runs < 1 {
		err = errors.New("--runs is 1 or more")
	}
	s.Settle(folder, s.merge)
	return s, err
}

func prove(ctx context.Context, s settings, out io.Writer) error {
	list := experiments.Cells(s.Selection)
	if s.list {
		for _, c := range list {
			harness.Say(out, "%s\n", c.Name())
		}
		return nil
	}
	begin := time.Now()
	harness.Say(out, "SEED=%d\nbuilding the service, and the broken programs\n", s.seed)
	var programs []string
	for _, c := range list {
		programs = append(programs, c.Program, cmp.Or(c.Scene().Begins, c.Program))
	}
	if err := build(ctx, programs...); err != nil {
		return err
	}
	var results []result
	interrupted := false
	err := harness.On("faults", func(whole *harness.Site) error {
		g := stage.NewGround(whole)
		for i, c := range list {
			for n := range s.runs {
				if interrupted = ctx.Err() != nil; interrupted {
					return nil // the results so far are kept
				}
				harness.Say(out, "[%3d/%d] %-62s ", i+1, len(list), c.Name())
				r := try(ctx, g, c, experiments.SeedOf(s.seed, c.Name(), n))
				if interrupted = ctx.Err() != nil; interrupted {
					return nil // the cell was interrupted
				}
				harness.Say(out, "%s\n", r.line(s.seed))
				results = append(results, r)
				if c.Condemned != nil && !r.Passed && !(r.IsSkipped() && c.Database == servertest.TiDB) {
					return errors.New("a broken program passed or was skipped, so that no other verdict means anything")
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if interrupted {
		if !s.merge { // without merging, the page shows only this run
			return errors.New("interrupted")
		}
		return errors.Join(errors.New("interrupted"), publish(s, out, results, time.Since(begin)))
	}
	return publish(s, out, results, time.Since(begin))
}
