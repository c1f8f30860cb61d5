package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
	"drawsvc/loadtest/report"
)

type settings struct {
	awards int64
	only   *regexp.Regexp
	// doc means that the page is filled with the published results, and nothing is
	// measured.
	doc bool
}

func main() { harness.Main("growth", parse, run) }

// awardsMin is the minimum for which the first size is more than a few draws.
const awardsMin = 100_000

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("growth", flag.ContinueOnError)
	flags.Int64Var(&s.awards, "awards", 100_000_000, "awards of the large pool, 100000 or more; a tenth more are in committed pools")
	s.only = harness.Only(flags, "measure only the databases, postgres or mysql,")
	do, args := harness.Command(args, "doc")
	s.doc = do != ""
	if err = harness.Parse(flags, args); err == nil && s.awards < awardsMin {
		err = fmt.Errorf("--awards is %d or more", awardsMin)
	}
	return s, err
}

// steps are the sizes at which everything is measured, as parts of all awards.
func (s settings) steps() []int64 { return []int64{s.awards / 100, s.awards / 10, s.awards} }

func run(ctx context.Context, s settings, out io.Writer) error {
	if s.doc {
		return fill(".")
	}
	service := place.Service()
	service.Name = stage.Released
	if err := place.Build(ctx, stage.Bin, service); err != nil {
		return err
	}
	var all error
	ran := false
	for _, kind := range []string{"postgres", "mysql"} {
		name := place.Of(kind).Name
		if !s.only.MatchString(kind) && !s.only.MatchString(name) {
			continue
		}
		ran = true
		skipped, err := harness.Try(name, func(site *harness.Site) error { return measureOn(ctx, site, s, kind, out) })
		if skipped != "" {
			harness.Say(out, "%s SKIPPED: %s\n", name, skipped)
		}
		if err != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w", name, err))
		}
	}
	if !ran {
		return fmt.Errorf("no database matches %q: they are postgres (PostgreSQL) and mysql (MariaDB)", s.only)
	}
	return all
}

// measureOn fills and measures one database. Its error is the verdict.
func measureOn(ctx context.Context, site *harness.Site, s settings, kind string, out io.Writer) error {
	begun := time.Now()
	need := needed(kind, s.awards)
	if err := checkDisk(need, out); err != nil {
		return err
	}
	f := newFiller(ctx, site, kind, out)
	r := &results{Database: place.Of(kind).Name, Bound: gigabytes(need), Values: map[string][]float64{}}
	for n, awards := range s.steps() {
		if err := f.fill(n, awards); err != nil {
			return err
		}
		r.Awards = append(r.Awards, f.drawn[large])
		took, err := f.measure(n)
		if err != nil {
			return err
		}
		r.add(took)
		harness.Say(out, "%s%v\n", r.table(), f.Verdict.Violations)
		r.Peak = max(r.Peak, took[diskPeak])
		if bound := gigabytes(needed(kind, awards)); r.Peak > bound {
			return fmt.Errorf("%.1f GB of disk are used at %d awards, more than the bound of %.1f", r.Peak, awards, bound)
		}
	}
	if err := f.End(); err != nil {
		return err
	}
	f.tally(r)
	r.Stand = report.NewStand(false, time.Since(begun), r.verdict())
	harness.Say(out, "%s\n%s\n", r.table(), r.summary())
	return errors.Join(publish(*r), r.verdict())
}

// newFiller starts a server with the memory of a machine, and the service on it.
func newFiller(ctx context.Context, site *harness.Site, kind string, out io.Writer) *filler {
	stage.MakeSeedKeys(site)
	w, err := stage.NewWorld(ctx, site, &stage.Ground{Whole: site}, stage.Scene{
		Place: place.Place{Database: kind, Mode: "for-update", Instances: 1}, Program: stage.Released, Flags: stage.SeedFlags(), Timeout: timeout,
		NewBase: func(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
			return g.Database(s, kind, servertest.Start(s, kind, servertest.Durable(), servertest.Args(place.Of(kind).Wide...)))
		},
	})
	site.Must(err)
	t, err := client.NewTrial(w, 1, "", client.Expected{})
	site.Must(err)
	site.Cleanup(t.WatchLag())
	return &filler{Trial: t, out: out, since: map[string]int64{}, drawn: map[string]int64{}, took: map[string][]float64{}}
}

// checkDisk prints how many bytes are needed, and returns an error if fewer are free.
func checkDisk(need int64, out io.Writer) error {
	free, err := freeDisk(os.TempDir())
	if err != nil {
		return err
	}
	harness.Say(out, "needs up to %.1f GB in %s, where %.1f GB are free\n", gigabytes(need), os.TempDir(), gigabytes(free))
	if free < need {
		return fmt.Errorf("%.1f GB are free in %s, and up to %.1f GB are needed: set TMPDIR to a larger disk, or use fewer --awards", gigabytes(free), os.TempDir(), gigabytes(need))
	}
	return nil
}

// needed returns the bytes that a run takes at most: rows with their indexes, their
// restored copy and the dump, the files of the proof, and logs of the server.
func needed(kind string, awards int64) int64 {
	if kind == "postgres" {
		return 6<<30 + 700*awards // max_wal_size is 4 GB
	}
	return 2<<30 + 900*awards
}

func gigabytes(n int64) float64 { return float64(n) / 1e9 }
