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
	// rounds is how often each candidate is measured, seconds how long each
	// time, warmUp how long it is loaded before.
	rounds, seconds, warmUp int
	// connections and threads are wrk's.
	connections, threads int
	// log is how many awards a log has that has grown; prizes, awards and pools
	// are the sizes of the large cases.
	log, prizes, awards, pools int
	only                       *regexp.Regexp
	// against is the commit that is measured in turn with this tree, "" for none.
	against string
	results string
	// page is the one whose section "bench" shows what is published.
	page string
	// command is what is to be done, nothing for a run.
	command []string
}

type option struct {
	name        string
	value       *int
	full, quick int
	// against is the default beside another tree, 0 for that of other runs.
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
	}
}

// usual is the default: of a run beside another tree, a quick or a full one.
func (o option) usual(s *settings) int {
	switch {
	case s.against != "" && o.against > 0:
		return o.against
	case s.quick:
		return o.quick
	}
	return o.full
}

// parse reads flags, and the environment where there is no flag.
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

// settle gives a number its value: the flag's, the environment's, the default.
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

// String shows every option with its value.
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
	if s.against != "" {
		command += " --against " + s.against
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

// countsTrips says that round trips are counted, which takes a run of its own.
func (s settings) countsTrips() bool { return !s.quick && s.against == "" }

func (s settings) numbers() map[string]int {
	numbers := make(map[string]int)
	for _, o := range s.options() {
		numbers[o.name] = *o.value
	}
	return numbers
}

func (s settings) name() string {
	if s.against != "" {
		return "against"
	}
	return "last"
}

func (s settings) published() string { return filepath.Join(s.results, "published.json") }
