package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// ErrUsage is the error of an invalid command line.
var ErrUsage = errors.New("usage")

// Main runs a program by its command line, until it ends or is interrupted, and exits
// with its code: 0 success, 1 failure, 2 usage.
func Main[S any](name string, parse func(args []string) (S, error), run func(ctx context.Context, s S, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	s, err := parse(os.Args[1:])
	if err = usage(err); err == nil {
		err = run(ctx, s, os.Stdout)
	}
	stop()
	os.Exit(codeOf(name, err, os.Stderr))
}

// codeOf returns the exit code, and prints the error unless it is 0.
func codeOf(name string, err error, to io.Writer) int {
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, ErrUsage):
		Say(to, "%v\n", err)
		return 2
	}
	Say(to, "%s: %v\n", name, err)
	return 1
}

// usage turns an error of the command line into ErrUsage, except a request for help.
func usage(err error) error {
	if err == nil || errors.Is(err, flag.ErrHelp) || errors.Is(err, ErrUsage) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUsage, err)
}

// Say prints to a terminal; it ignores a failed write, which nobody could handle.
func Say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }

// Command returns the name with which a command line begins, "" for none of names, and
// the rest of the line.
func Command(args []string, names ...string) (do string, rest []string) {
	if len(args) > 0 && slices.Contains(names, args[0]) {
		return args[0], args[1:]
	}
	return "", args
}

// Parse reads flags; further arguments are an error.
func Parse(flags *flag.FlagSet, args []string) error {
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	return err
}

// Only adds the flag "only": a regular expression that selects by name. words describes
// in the help what it selects.
func Only(flags *flag.FlagSet, words string) *regexp.Regexp {
	only := regexp.MustCompile("")
	flags.TextVar(only, "only", only, words+" whose name matches this regular expression")
	return only
}

// Selection selects the cells of a proof to run, and the folder for their results.
type Selection struct {
	Quick   bool
	Only    *regexp.Regexp
	Results string
}

// Flags adds the selection's flags. quick is the meaning of the flag of that name, folder
// the default folder of the results.
func (s *Selection) Flags(flags *flag.FlagSet, quick, folder string) {
	flags.BoolVar(&s.Quick, "quick", false, quick)
	s.Only = Only(flags, "run only the cells")
	flags.StringVar(&s.Results, "results", "", "folder for the results (default "+folder+", or its folder part for a part)")
}

// Settle must be called after the flags are parsed. The results of a part are written
// to a separate folder unless they are merged into the whole: only the whole is
// published.
func (s *Selection) Settle(folder string, merged bool) {
	if s.Results != "" {
		return
	}
	if s.Results = folder; (s.Quick || s.Only.String() != "") && !merged {
		s.Results += "/part"
	}
}

// Chosen returns the cells whose name the selection's expression matches.
func Chosen[T any](s Selection, cells []T, name func(T) string) []T {
	return slices.DeleteFunc(cells, func(c T) bool { return !s.Only.MatchString(name(c)) })
}

// Go runs the go command in a folder, "" for the working directory.
func Go(ctx context.Context, folder string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = folder
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}
