package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/report"
)

func main() {
	harness.Main("bench", func(args []string) (settings, error) { return parse(args, os.LookupEnv) }, command)
}

var errUsage = fmt.Errorf("%w: bench [flags] [list | table [FILE] | chart [FILE] | publish]", harness.ErrUsage)

func command(ctx context.Context, s settings, out io.Writer) error {
	args := s.command
	if len(args) == 0 {
		return bench(ctx, s, out)
	}
	file := s.published()
	if len(args) == 2 {
		file = args[1]
	}
	switch {
	case args[0] == "list" && len(args) == 1:
		for _, e := range slices.Concat(entries(s), wonEntries(s), latencyEntries(s)) {
			fmt.Fprintf(out, "%-72s %-10s %s\n", e.name, e.limit(), e.size())
		}
		return nil
	case args[0] == "table" && len(args) <= 2:
		d, err := report.Read[document](file)
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, d.markdown())
		return err
	case args[0] == "chart" && len(args) <= 2:
		d, err := report.Read[document](file)
		if err != nil {
			return err
		}
		_, err = io.WriteString(out, d.chart())
		return err
	case args[0] == "publish" && len(args) == 1:
		return publish(s, out)
	}
	return errUsage
}

// bench measures, writes the results and, in quick mode, compares them with the
// published ones.
func bench(ctx context.Context, s settings, out io.Writer) error {
	var published document
	if s.guards() {
		var err error
		if published, err = report.Read[document](s.published()); err != nil {
			return fmt.Errorf("nothing is published to compare with (bench, then bench publish): %w", err)
		}
		won, _ := report.Read[document](settings{results: s.results, won: true}.published()) // it may not be published yet
		published.Entries = append(published.Entries, won.Entries...)
		published.addLimits(chosen(s))
	}
	begin := time.Now()
	fmt.Fprint(out, s)
	d, err := measureAll(ctx, s, out, published)
	if err != nil {
		return err
	}
	d.Seconds = time.Since(begin).Round(time.Second).Seconds()
	d.print(out)
	if err := d.write(s.results, s.name()); err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	fmt.Fprintf(out, "\n%v, results in %s/%s.json\n", time.Since(begin).Round(time.Second), s.results, s.name())
	return d.verdict(published)
}
