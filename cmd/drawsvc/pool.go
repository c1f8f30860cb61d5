package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func needsSubcommand(c *cobra.Command, _ []string) error {
	return usageError{errors.New("a subcommand is missing: try drawsvc " + c.Name() + " --help")}
}

func poolCommand(environment) *cobra.Command {
	return &cobra.Command{Use: "pool", RunE: needsSubcommand}
}
func stockCommand(environment) *cobra.Command {
	return &cobra.Command{Use: "stock", RunE: needsSubcommand}
}
