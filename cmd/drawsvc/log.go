package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
)

// logWriter writes histories.
type logWriter interface {
	WriteLog(ctx context.Context, poolID string, after int64, w io.Writer) error
}

func logCommand(env environment) *cobra.Command {
	var on target
	var pool poolName
	var after int64
	c := &cobra.Command{
		Use:   "log --pool ID",
		Short: "Print the history of a pool, a line of JSON for each award, move and change",
	}
	on.flag(c, env)
	pool.declare(c, false)
	c.Flags().Int64Var(&after, "after", 0, "begin behind this `VERSION`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if after < 0 {
			return usageError{errors.New("--after must be 0 or above")}
		}
		return readOn(c, &on, func(ctx context.Context, log logWriter) error {
			return log.WriteLog(ctx, string(pool), after, env.stdout)
		})
	}
	return c
}
