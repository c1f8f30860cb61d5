package harness

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

// ErrUsage is a command line that cannot be meant.
var ErrUsage = errors.New("usage")

// Main runs a program until it ends or is interrupted, and exits with its code:
// 0 well, 1 failed, 2 usage.
func Main(name string, run func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	os.Exit(codeOf(name, err, os.Stderr))
}

// codeOf returns the exit code, and says why where it is not 0.
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

// Usage says that a command line cannot be meant; a request for help stays one.
func Usage(err error) error {
	if err == nil || errors.Is(err, flag.ErrHelp) || errors.Is(err, ErrUsage) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUsage, err)
}

// Say prints to a terminal, where nobody handles a failed write.
func Say(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }

// Selection is which cells of a proof are run, and where its results go.
type Selection struct {
	Quick   bool
	Only    *regexp.Regexp
	Results string

	only string
}

// Flags adds the selection's flags, the first with its meaning.
func (s *Selection) Flags(flags *flag.FlagSet, quick, folder string) {
	flags.BoolVar(&s.Quick, "quick", false, quick)
	flags.StringVar(&s.only, "only", "", "run only the cells whose name matches this regular expression")
	flags.StringVar(&s.Results, "results", "", "folder for the results (default "+folder+", or its folder part for a part)")
}

// Settle is called when the flags are parsed. A part goes to a folder of its own
// unless it is merged into the whole: what is published is the whole.
func (s *Selection) Settle(folder string, merged bool) (err error) {
	if s.Only, err = regexp.Compile(s.only); err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	if s.Results != "" {
		return nil
	}
	if s.Results = folder; (s.Quick || s.only != "") && !merged {
		s.Results += "/part"
	}
	return nil
}
