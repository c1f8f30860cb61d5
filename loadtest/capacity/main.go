package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"time"

	"drawsvc/loadtest/harness"
)

type settings struct {
	awards, callers int
	only            *regexp.Regexp
	// doc has the page filled with what was published, and nothing measured.
	doc bool
}

func main() { harness.Main("capacity", parse, run) }

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("capacity", flag.ContinueOnError)
	flags.IntVar(&s.awards, "awards", 200_000, "awards to draw for each row, 1000 or more; the table is of a million")
	flags.IntVar(&s.callers, "callers", 128, "callers at once, which is about the size of a batch")
	s.only = harness.Only(flags, "measure only the rows, such as `postgres, random keys`,")
	if s.doc = len(args) > 0 && args[0] == "doc"; s.doc {
		args = args[1:]
	}
	if err = harness.Parse(flags, args); err == nil && (s.awards < 1000 || s.callers < 1) {
		err = errors.New("--awards is 1000 or more, --callers 1 or more")
	}
	return s, err
}

const bin = "loadtest/bin/capacity"

// run measures, publishes where every row was measured, and fills the page.
func run(ctx context.Context, s settings, out io.Writer) error {
	if !s.doc {
		p, err := measureAll(ctx, s, out)
		if err != nil || len(p.Rows) < rowsAll {
			return err // a part is printed, and not published
		}
		if err := harness.Write(results, "published", p, p.markdown()); err != nil {
			return err
		}
	}
	return fill(".")
}

// measureAll prints a row for each database and each kind of key.
func measureAll(ctx context.Context, s settings, out io.Writer) (p published, err error) {
	begun := time.Now()
	err = harness.Build(ctx, "loadtest/capacity/doc.go", bin, func(to string) [][]string {
		return [][]string{{"build", "-trimpath", "-o", filepath.Join(to, "drawsvc"), "./cmd/drawsvc"}}
	})
	if err != nil {
		return p, err
	}
	p.Awards = s.awards
	harness.Say(out, "%s", harness.TableRow(heads()...))
	for _, database := range []string{"postgres", "mysql", "sqlite"} {
		for _, keys := range []string{keysOfService, keysRandom} {
			name := database + ", " + keys
			if !s.only.MatchString(name) {
				continue
			}
			skipped, err := harness.Try(name, func(site *harness.Site) error {
				took, err := measure(ctx, site, s, database, keys)
				if err != nil {
					return err
				}
				took.Name = harness.DatabaseName(database) + ", " + keys
				p.Rows = append(p.Rows, took)
				harness.Say(out, "%s", harness.TableRow(took.row(s.awards)...))
				return nil
			})
			if err != nil {
				return p, fmt.Errorf("%s: %w", name, err)
			}
			if skipped != "" {
				harness.Say(out, "%s SKIPPED: %s\n", name, skipped)
			}
		}
	}
	p.Stand = harness.NewStand(false, time.Since(begun), nil)
	return p, nil
}
