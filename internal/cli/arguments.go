package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"drawsvc/internal/setting"
)

func needsSubcommand(c *cobra.Command, _ []string) error {
	return setting.AsUsage(errors.New("a subcommand is missing: try " + c.CommandPath() + " --help"))
}

// arguments accepts exactly n arguments.
func arguments(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < n:
			return fmt.Errorf("an argument is missing: the form is %s", c.UseLine())
		case len(args) > n:
			return fmt.Errorf("unexpected argument %q: the form is %s", args[n], c.UseLine())
		}
		return nil
	}
}

// near is the maximum number of wrong letters with which a misspelt command is
// recognized. In addition, at most half of the command's letters may be wrong.
const near = 2

// noArguments refuses arguments. An argument in place of a subcommand is treated as a
// misspelt subcommand.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !c.HasAvailableSubCommands() {
		return fmt.Errorf("unexpected argument %q: the form is %s", args[0], c.UseLine())
	}
	unknown := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath())
	if suggested := suggest(c, args[0]); suggested != "" {
		return fmt.Errorf("%s; the nearest is %s", unknown, suggested)
	}
	if deeper := deeper(c, args[0]); len(deeper) > 0 {
		return fmt.Errorf("%s; there is %s", unknown, strings.Join(deeper, ", "))
	}
	return fmt.Errorf("%s: try %s --help", unknown, c.CommandPath())
}

// suggest returns the subcommand that a misspelt name may mean, "" for none.
func suggest(c *cobra.Command, name string) string {
	for c.SuggestionsMinimumDistance = 1; c.SuggestionsMinimumDistance <= near && len(name) > near; c.SuggestionsMinimumDistance++ {
		for _, known := range c.SuggestionsFor(name) {
			if strings.HasPrefix(known, name) || c.SuggestionsMinimumDistance <= len(known)/2 {
				return known
			}
		}
	}
	return ""
}

// deeper returns the commands with a name that are below the subcommands of c.
func deeper(c *cobra.Command, name string) (found []string) {
	for _, sub := range c.Commands() {
		for _, leaf := range sub.Commands() {
			if leaf.Name() == name && leaf.IsAvailableCommand() {
				found = append(found, sub.Name()+" "+name)
			}
		}
	}
	return found
}

// nearest returns the known name with the smallest difference to name. The difference is
// counted as cobra counts it for commands.
func nearest(name string, known map[string]bool) string {
	c := &cobra.Command{}
	for _, other := range slices.Sorted(maps.Keys(known)) {
		c.AddCommand(&cobra.Command{Use: other, Run: func(*cobra.Command, []string) {}})
	}
	for range differenceMax {
		if found := c.SuggestionsFor(name); len(found) > 0 {
			return found[0]
		}
		c.SuggestionsMinimumDistance++
	}
	return "--help"
}

// differenceMax is larger than the difference between any two names of flags or
// variables.
const differenceMax = 256
