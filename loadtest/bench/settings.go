package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"drawsvc/loadtest/harness"
)

// settings are a run's options: flags, or environment variables of the same
// names in capitals.
type settings struct {
	quick bool
	// rounds is the number of measurements of each candidate, seconds the length of each,
	// warmUp the length of the load before it.
	rounds, seconds, warmUp int
	// connections and threads are options of wrk.
	connections, threads int
	// log is the number of awards in a log that has grown; prizes, awards and pools are
	// the sizes of the large cases.
	log, prizes, awards, pools int
	// codes is the number of imported codes; a tenth as many awards expire.
	codes int
	only  *regexp.Regexp
	// won selects the measurements of what follows a win, such as claims. before is the
	// commit whose draws they are compared with, "" for none.
	won    bool
	before string
	// latency measures latencies at steady rates.
	latency bool
	// against is the commit that is measured alternately with this tree, "" for none.
	against string
	results string
	// page is the page whose section "bench" shows the published results.
	page string
	// command is the subcommand, empty for a run.
	command []string
}

type option struct {
	name        string
	value       *int
	full, quick int
	// against is the default value for a comparison with another tree; 0 means the same
	// default as for other runs.
	against  int
	min, max int
	meaning  string
}

func (s *settings) options() []option {
	return []option{
		{"rounds", &s.rounds, 5, 3, 12, 1, 1000, "how often each candidate is measured, in turn with the others"},
		{"seconds", &s.seconds, 8, 2, 3, 1, 600, "length of one measurement"},
		{"warmup", &s.warmUp, 1, 1, 0, 1, 60, "seconds of load before each measurement"},
		{"connections", &s.connections, 256, 256, 0, 1, 10_000, "callers at once"},
		{"threads", &s.threads, 2, 2, 0, 1, 64, "threads of wrk"},
		{"log", &s.log, 2_000_000, 2_000_000, 0, 10, 1_000_000_000, "awards in a log that has grown"},
		{"prizes", &s.prizes, 100_000, 10_000, 0, 20, 100_000, "prizes in the pool of many prizes"},
		{"awards", &s.awards, 10_000_000, 200_000, 0, 10, 1_000_000_000, "awards in the pool of many awards"},
		{"pools", &s.pools, 1000, 200, 0, 2, 4000, "pools drawn from at random"},
		{"codes", &s.codes, 1_000_000, 1_000_000, 0, 1000, 2_000_000, "codes to import, and ten times the awards that expire or are fulfilled"},
	}
}

// usual returns the default for a run against another tree, a quick run, or a full run.
func (o option) usual(s *settings) int {
	switch {
	case s.against != "" && o.against > 0:
		return o.against
	case s.quick:
		return o.quick
	}
	return o.full
}

// parse reads flags, and the environment for flags that are not given.
func parse(args []string, lookUp func(string) (string, bool)) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.BoolVar(&s.quick, "quick", false, "few measures and short ones; fails where a ratio falls behind the published one")
	for _, o := range s.options() {
		meaning := fmt.Sprintf("%s (default %d, quick %d)", o.meaning, o.full, o.quick)
		if o.against > 0 {
			meaning = fmt.Sprintf("%s (default %d, quick %d, against %d)", o.meaning, o.full, o.quick, o.against)
		}
		flags.IntVar(o.value, o.name, 0, meaning)
	}
	s.only = harness.Only(flags, "measure only the entries")
	flags.BoolVar(&s.won, "after-the-win", false, "measure codes, claims and hooks instead of the rest")
	flags.BoolVar(&s.latency, "latency", false, "measure latencies at 25, 50 and 75 % of the best rate instead of the rest, by k6")
	flags.StringVar(&s.before, "before", "", "with --after-the-win, a commit without them, whose draws are measured in turn")
	flags.StringVar(&s.against, "against", "", "measure the service of this commit in turn with this tree's, and judge the difference")
	flags.StringVar(&s.results, "results", "loadtest/bench/results", "folder for the results")
	flags.StringVar(&s.page, "page", "docs/performance.md", "page that publish shows the ratios in, between its marks bench:begin and bench:end")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return s, err
		}
		return s, fmt.Errorf("%w: %w", errUsage, err)
	}
	given := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, o := range s.options() {
		if err := o.settle(o.usual(&s), given[o.name], lookUp); err != nil {
			return s, err
		}
	}
	if value, ok := lookUp("ONLY"); ok && !given["only"] {
		if err := s.only.UnmarshalText([]byte(value)); err != nil {
			return s, fmt.Errorf("%w: ONLY: %w", errUsage, err)
		}
	}
	if s.against != "" && s.rounds < comparedMin {
		return s, fmt.Errorf("%w: rounds must be at least %d against another commit: fewer tell nothing", errUsage, comparedMin)
	}
	s.command = flags.Args()
	return s, nil
}

// settle sets a number: from the flag, the environment, or the default.
func (o option) settle(usual int, given bool, lookUp func(string) (string, bool)) error {
	if value, ok := lookUp(strings.ToUpper(o.name)); ok && value != "" && !given {
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%w: %s=%s is not a number", errUsage, strings.ToUpper(o.name), value)
		}
		*o.value, given = n, true
	}
	if !given {
		*o.value = usual
	}
	if *o.value < o.min || *o.value > o.max {
		return fmt.Errorf("%w: %s must be %d to %d", errUsage, o.name, o.min, o.max)
	}
	return nil
}

// String returns every option with its value.
func (s settings) String() string {
	var b strings.Builder
	for _, o := range s.options() {
		fmt.Fprintf(&b, "%s=%d ", strings.ToUpper(o.name), *o.value)
	}
	fmt.Fprintf(&b, "ONLY=%q quick=%t against=%q\n", s.only, s.quick, s.against)
	return b.String()
}

func (s settings) line() string {
	command := "go run ./loadtest/bench"
	if s.won {
		command += " --after-the-win"
	}
	if s.latency {
		command += " --latency"
	}
	for flag, commit := range map[string]string{" --against ": s.against, " --before ": s.before} {
		if commit != "" {
			command += flag + commit
		}
	}
	if s.quick {
		command += " --quick"
	}
	for _, o := range s.options() {
		if usual := o.usual(&s); *o.value != usual {
			command += fmt.Sprintf(" --%s %d", o.name, *o.value)
		}
	}
	if only := s.only.String(); only != "" {
		command += " --only '" + only + "'"
	}
	return command
}

func (s settings) guards() bool { return s.quick && s.against == "" }

// countsTrips reports whether round trips are counted, which needs a separate run.
func (s settings) countsTrips() bool { return !s.quick && s.against == "" && !s.latency }

func (s settings) numbers() map[string]int {
	numbers := make(map[string]int)
	for _, o := range s.options() {
		numbers[o.name] = *o.value
	}
	return numbers
}

func (s settings) name() string {
	switch {
	case s.against != "":
		return "against"
	case s.won:
		return "after-the-win"
	case s.latency:
		return "latency"
	}
	return "last"
}

// publishedName is the name of the published results.
func (s settings) publishedName() string {
	switch {
	case s.won:
		return "published-after-the-win"
	case s.latency:
		return "published-latency"
	}
	return "published"
}

func (s settings) published() string { return filepath.Join(s.results, s.publishedName()+".json") }
