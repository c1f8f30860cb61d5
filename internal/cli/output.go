package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// counted is a number of things that make their plural with an s.
func counted(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, isY := strings.CutSuffix(thing, "y"); isY {
		thing = stem + "ie"
	}
	return strconv.FormatInt(n, 10) + " " + thing + "s"
}

// moved is a number of units with its sign.
func moved(units int64) string {
	return fmt.Sprintf("%+d %s", units, do(max(units, -units), "unit", "units"))
}

// do is the verb of n things: one is that of a single thing.
func do(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// output is how a command prints: table for people, json for programs. It
// implements pflag.Value.
type output string

const (
	outputTable output = "table"
	outputJSON  output = "json"
)

func (o *output) flag(flags *pflag.FlagSet) {
	*o = outputTable
	flags.Var(o, "output", "how to print: table or json")
}

// String implements pflag.Value.
func (o *output) String() string { return string(*o) }

// Type implements pflag.Value.
func (o *output) Type() string { return "table|json" }

// Set implements pflag.Value.
func (o *output) Set(s string) error {
	switch output(s) {
	case outputTable, outputJSON:
		*o = output(s)
		return nil
	}
	return errors.New("must be table or json")
}
