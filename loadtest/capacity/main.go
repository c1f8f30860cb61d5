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

// settings are the command line.
type settings struct {
	awards, callers int
	only            *regexp.Regexp
}

func main() { harness.Main("capacity", parse, measureAll) }

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("capacity", flag.ContinueOnError)
	flags.IntVar(&s.awards, "awards", 200_000, "awards to draw for each row, 1000 or more; the table is of a million")
	flags.IntVar(&s.callers, "callers", 128, "callers at once, which is about the size of a batch")
	s.only = harness.Only(flags, "measure only the rows, such as `postgres, random keys`,")
	if err = harness.Parse(flags, args); err == nil && (s.awards < 1000 || s.callers < 1) {
		err = errors.New("--awards is 1000 or more, --callers 1 or more")
	}
	return s, err
}

const bin = "loadtest/bin/capacity"

// measureAll prints a row for each database and each kind of key.
func measureAll(ctx context.Context, s settings, out io.Writer) error {
	err := harness.Build(ctx, "loadtest/capacity/doc.go", bin, func(to string) [][]string {
		return [][]string{{"build", "-trimpath", "-o", filepath.Join(to, "drawsvc"), "./cmd/drawsvc"}}
	})
	if err != nil {
		return err
	}
	harness.Say(out, "%s\n", harness.TableRow("database, keys", "table", "indexes", "together", "log written", "took"))
	for _, database := range []string{"postgres", "mysql", "sqlite"} {
		for _, keys := range []string{keysOfService, keysRandom} {
			name := database + ", " + keys
			if !s.only.MatchString(name) {
				continue
			}
			skipped, err := harness.Try(name, func(site *harness.Site) error {
				begun := time.Now()
				took, err := measure(ctx, site, s, database, keys)
				if err != nil {
					return err
				}
				harness.Say(out, "%s\n", took.row(harness.DatabaseName(database)+", "+keys, s.awards, time.Since(begun)))
				return nil
			})
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if skipped != "" {
				harness.Say(out, "%s SKIPPED: %s\n", name, skipped)
			}
		}
	}
	return nil
}

// row is the measured bytes as those of a million awards.
func (b bytes) row(name string, awards int, took time.Duration) string {
	million := func(n int64) string {
		if n == 0 {
			return harness.Dash("")
		}
		return fmt.Sprintf("%.0f MB", float64(n)/float64(awards))
	}
	return harness.TableRow(name, million(b.table), million(b.indexes), million(b.all), million(b.log), took.Round(time.Second).String())
}
