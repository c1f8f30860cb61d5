package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"drawsvc/internal/fault"
	"drawsvc/internal/setting"
)

// checkVariables refuses variables with the prefix of ours that no flag has: a
// name that is misspelt would be a setting that is not there.
func checkVariables(root *cobra.Command, env setting.Environment) error {
	known := knownVariables(root)
	names := env.Variables()
	slices.Sort(names)
	for _, name := range names {
		if !strings.HasPrefix(name, "DRAWSVC_") || known[name] || isForeign(name) {
			continue
		}
		return setting.AsUsage(fmt.Errorf("%s is no variable of drawsvc; the nearest is %s", name, nearest(name, known)))
	}
	return nil
}

// knownVariables are the variables of all flags of all commands.
func knownVariables(c *cobra.Command) map[string]bool {
	known := map[string]bool{}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[setting.NoVariable] == nil && f.Name != "help" {
			known[setting.Variable(f.Name)] = true
		}
	})
	for _, sub := range c.Commands() {
		maps.Copy(known, knownVariables(sub))
	}
	return known
}

// isForeign reports whether others set the variable: tests, Kubernetes for a
// service named drawsvc, or a team for scripts of its own.
func isForeign(name string) bool {
	switch {
	case strings.HasPrefix(name, "DRAWSVC_TEST_"), strings.HasPrefix(name, "DRAWSVC_X_"), slices.Contains(fault.Variables(), name):
		return true
	case name == "DRAWSVC_SERVICE_HOST", name == "DRAWSVC_PORT", name == "DRAWSVC_SERVICE_PORT":
		return true
	}
	return strings.HasPrefix(name, "DRAWSVC_PORT_") || strings.HasPrefix(name, "DRAWSVC_SERVICE_PORT_")
}

// nearest is the known name with the least difference to name, as cobra suggests commands.
func nearest(name string, known map[string]bool) string {
	c := &cobra.Command{}
	for _, other := range slices.Sorted(maps.Keys(known)) {
		c.AddCommand(&cobra.Command{Use: other, Run: func(*cobra.Command, []string) {}})
	}
	for c.SuggestionsMinimumDistance = 0; ; c.SuggestionsMinimumDistance++ { // any two names differ by less than both have letters
		if found := c.SuggestionsFor(name); len(found) > 0 {
			return found[0]
		}
	}
}

// flagError is an error of flags, with the nearest one where a flag is unknown. Flags
// behind a misspelt command are those of the command that was meant: the error
// is of the command's name then.
func flagError(c *cobra.Command, err error) error {
	if c.HasSubCommands() && c.Flags().NArg() > 0 {
		return noArguments(c, c.Flags().Args())
	}
	if wrong, isValue := errors.AsType[*pflag.InvalidValueError](err); isValue {
		return wrongValue(wrong)
	}
	unknown, ok := strings.CutPrefix(err.Error(), "unknown flag: ")
	if _, short, isShort := strings.Cut(err.Error(), " in -"); isShort { // no flag has one letter
		short, _, _ = strings.Cut(short, "=")
		unknown, ok, err = "--"+short, true, errors.New("unknown flag: -"+short)
	}
	if !ok {
		return err
	}
	if slices.Contains([]string{setting.ServerFlag, setting.TokenFlag, setting.TokenFlag + setting.FileSuffix}, strings.TrimPrefix(unknown, "--")) && c.Flags().Lookup(setting.DatabaseFlag) != nil {
		return alone(c.CommandPath())
	}
	known := map[string]bool{"--help": true}
	c.Flags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = true })
	return fmt.Errorf("%w; the nearest is %s", err, nearest(unknown, known))
}

// wrongValue says what a flag takes in place of what it was given.
func wrongValue(e *pflag.InvalidValueError) error {
	takes := map[string]string{
		"int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0 on", "bool": "true or false",
		"duration": "a time such as 500ms, 10s or 1h",
	}[e.GetFlag().Value.Type()]
	if takes == "" {
		return fmt.Errorf("--%s: %w", e.GetFlag().Name, e.Unwrap())
	}
	return fmt.Errorf("--%s must be %s, not %q", e.GetFlag().Name, takes, e.GetValue())
}
