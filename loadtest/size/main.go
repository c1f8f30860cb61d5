package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"time"

	"drawsvc/loadtest/adminpage"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
	"drawsvc/loadtest/report"
)

type settings struct {
	pools, prizes, awards, codes int
	idle                         time.Duration
	only                         *regexp.Regexp
	service                      string
	// old means that the service is a release without codes, steps and claims: only its open
	// page is measured.
	old bool
}

// coded returns how many prizes of the large pool have codes: prize-0 and the prizes
// after it.
func (s *settings) coded() int {
	if s.old || s.codes == 0 {
		return 0
	}
	return min(10, (s.prizes-1)/2)
}

// stock returns the stock of each prize, half of which is drawn.
func (s *settings) stock() int { return 2 * s.awards / (s.prizes - 1) }

func main() { harness.Main("size", parse, run) }

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("size", flag.ContinueOnError)
	flags.IntVar(&s.pools, "pools", 500, "pools")
	flags.IntVar(&s.prizes, "prizes", 1000, "prizes of the large pool, the last of which is a losing ticket")
	flags.IntVar(&s.awards, "awards", 1_000_000, "awards of the large pool")
	flags.IntVar(&s.codes, "codes", 100_000, "codes in reserve, of ten prizes whose units have codes; 0 for no codes")
	flags.BoolVar(&s.old, "old", false, "the program is of a release without codes and steps: measure only its open page")
	flags.DurationVar(&s.idle, "idle", 20*time.Second, "how long an open page is measured, with and without it")
	flags.StringVar(&s.service, "service", "", "program to measure (default: the one that is built)")
	s.only = harness.Only(flags, "measure only the databases")
	if err = harness.Parse(flags, args); err == nil && (s.pools < 1 || s.prizes < 3 || s.awards < s.prizes || s.codes < 0) {
		err = errors.New("--pools is 1 or more, --prizes 3 or more, --awards at least as many, --codes 0 or more")
	}
	return s, err
}

const (
	bin  = place.Bin + "/size"
	pool = "large"
)

func run(ctx context.Context, s settings, out io.Writer) error {
	if s.service == "" {
		if err := place.Build(ctx, bin, place.Service()); err != nil {
			return err
		}
	}
	for _, database := range []string{"sqlite", "postgres"} {
		if !s.only.MatchString(database) {
			continue
		}
		skipped, err := harness.Try(database, func(site *harness.Site) error { return measure(ctx, site, s, database, out) })
		if err != nil {
			return fmt.Errorf("%s: %w", database, err)
		}
		if skipped != "" {
			harness.Say(out, "%s SKIPPED: %s\n", database, skipped)
		}
	}
	return nil
}

// measure prints a table of a database's calls, and what an idle page costs.
func measure(ctx context.Context, site *harness.Site, s settings, database string, out io.Writer) error {
	url := place.NewDatabase(site, database)
	var more []string
	if !s.old {
		var err error
		more, err = sealKeys(site.TempDir())
		site.Must(err)
	}
	service, err := harness.Launch(ctx, site, cmp.Or(s.service, filepath.Join(bin, "drawsvc")), place.ServeArgs("127.0.0.1:0", url, "for-update", more...)...)
	site.Must(err)
	site.Must(makePools(ctx, service.URL, s))
	begun := time.Now()
	site.Must(fill(ctx, url, s))
	harness.Say(out, "\n%s: %d pools, one of %d prizes, %d of them with codes, and %d awards, filled in %.0f s\n\n",
		place.Of(database).Name, s.pools, s.prizes, s.coded(), s.awards, time.Since(begun).Seconds())
	if s.old {
		return idle(ctx, service, s, out)
	}
	table := report.NewTable("view | call | first | median of 3 | kB")
	for _, c := range adminpage.Calls(pool, s.awards, rules) {
		took, err := c.Measure(ctx, service.URL)
		if err != nil {
			return err
		}
		table.Add(c.View, "`"+c.Path+"`", ms(took.First), ms(took.Median), took.Bytes/1000)
		harness.Say(out, "%s", table.Last())
	}
	return idle(ctx, service, s, out)
}

func ms(d time.Duration) string { return fmt.Sprintf("%.0f ms", report.Milliseconds(d)) }
