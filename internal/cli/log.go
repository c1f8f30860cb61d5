package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"drawsvc/internal/api"
	"drawsvc/internal/setting"
)

func logCommand(env setting.Environment) *cobra.Command {
	c := newCommand(env, "log --pool ID", "Print the history of a pool, a line of JSON for each award, move and change", ofPool)
	var after int64
	c.Flags().Int64Var(&after, "after", 0, "begin behind this `VERSION`")
	return c.does(func([]string) error {
		if after < 0 {
			return setting.AsUsage(errors.New("--after must be 0 or above"))
		}
		return nil
	}, func(ctx context.Context, on *api.Client, _ []string) error {
		return on.WriteLog(ctx, string(c.pool), after, env.Stdout)
	})
}
