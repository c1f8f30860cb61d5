package main

import (
	"errors"

	"github.com/spf13/pflag"
)

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
